package discover

import "fmt"

// A custom resource that describes itself, directly or through others, comes to one form after a few. One that has more than these is left out.
const (
	maxFormsInARow = 8
	maxOwnForms    = 300 // also where each form leads to several
)

// isEndless reports whether what describes a custom resource was itself described by so many earlier forms of it that another form is not looked into.
// A form may have another name.
func (t *finder) isEndless(d document, by *wanted) bool {
	earlier := 0
	for w := by; w != nil; w = w.origin {
		if w.unit.File == d.file && w.unit.Line == d.line && w.unit.Resource.GVK().Kind == d.object.GVK().Kind {
			earlier++
		}
	}
	at := fmt.Sprintf("%s:%d", d.file, d.line)
	if earlier > 0 {
		t.ownForms[at]++
	}
	return earlier > maxFormsInARow || t.ownForms[at] > maxOwnForms
}

// leaveEndless notes a custom resource that describes itself in ever new forms.
func (t *finder) leaveEndless(d document, of Dialect) {
	left := Skipped{
		File: d.file, Line: d.line, What: d.object.GVK().Kind, Dialect: of, Broken: true,
		Why: "describes itself in a new form each time, as a variable that grows does: its later forms are not looked into",
	}
	t.unread[fmt.Sprint(left.File, left.Line, left.What)] = unread{Skipped: left, described: true}
}
