package report

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/object"
)

// maxFieldNames is how many things a sentence names before it counts the rest: `kubectl get` shows it on one line.
const maxFieldNames = 3

// Drift returns which fields are not as Git wants and stay so for now, or "" if none is. It names fields, never values.
func (r Report) Drift() string {
	var out []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			out = append(out, countNoun(len(names), "field")+what+joinLimited(names))
		}
	}
	add(" drifted and not corrected: ", r.fields(decide.Hold, func(id object.ID, f Finding) string {
		if f.Kind == compare.Mutated {
			return ""
		}
		return heldName(id, f)
	}))
	add(" changed by admission: ", r.fields(decide.Hold, func(id object.ID, f Finding) string {
		if f.Kind != compare.Mutated {
			return ""
		}
		return f.FieldName(id) + " by " + f.Writer.String()
	}))
	add(" contested: ", r.fields(decide.Contested, func(id object.ID, f Finding) string {
		return f.FieldName(id) + " with " + f.Writer.String()
	}))
	if left := r.toPrune(); len(left) > 0 {
		out = append(out, countNoun(len(left), "object")+" no longer in Git, and not pruned: "+joinLimited(left))
	}
	return strings.Join(out, "; ")
}

// fields names the fields of a verdict; those for which name returns "" are left out.
func (r Report) fields(v decide.Verdict, name func(object.ID, Finding) string) []string {
	var out []string
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if f.Verdict != v || f.Reported {
				continue
			}
			if text := name(o.ID, f); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// toPrune names the objects that left Git and count as a difference.
func (r Report) toPrune() []string {
	var out []string
	for _, l := range r.Leaving {
		if !l.Extraneous {
			out = append(out, l.ID.String())
		}
	}
	return out
}

// heldName names a field as FieldName does, and says why it is held: of a paused one, for which person truce waits.
func heldName(id object.ID, f Finding) string {
	if f.PausedBy != "" {
		return f.FieldName(id) + " (paused by " + f.PausedBy + ")"
	}
	if f.Reason != "" {
		return f.FieldName(id) + " (" + f.Reason + ")"
	}
	return f.FieldName(id)
}

// joinLimited joins the first items, and counts the others.
func joinLimited(items []string) string {
	if len(items) <= maxFieldNames {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:maxFieldNames], ", "), len(items)-maxFieldNames)
}

// countNoun returns a number of things in words: 1 field, 2 fields.
func countNoun(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
