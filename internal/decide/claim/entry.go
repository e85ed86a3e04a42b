package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"go.yaml.in/yaml/v3"
)

// Entry is what a catalogue knows of one writer of fields.
type Entry struct {
	ID        string     `yaml:"id" json:"id"`
	Family    string     `yaml:"family" json:"family,omitempty"` // the heading that it stands under
	Who       string     `yaml:"who" json:"who,omitempty"`       // the writer as people say it
	Evidence  []Evidence `yaml:"evidence" json:"evidence,omitempty"`
	On        []Kind     `yaml:"on" json:"on,omitempty"` // the kinds of object that it writes to
	Paths     []Path     `yaml:"paths" json:"paths,omitempty"`
	Do        Action     `yaml:"do" json:"do,omitempty"`
	Count     *Count     `yaml:"count" json:"count,omitempty"`
	Stand     []string   `yaml:"placeholders" json:"placeholders,omitempty"` // values in Git that leave the field to another writer
	Over      []string   `yaml:"over" json:"over,omitempty"`                 // ids of those that share the field with it by design, and come second
	Knowledge []string   `yaml:"knowledge" json:"knowledge,omitempty"`       // where this is known from
	Text      string     `yaml:"text" json:"text,omitempty"`
	Off       bool       `yaml:"off" json:"off,omitempty"` // of a user's entry: the built-in one of this id does not hold
	File      string     `yaml:"-" json:"file,omitempty"`  // whose it is; empty for a built-in one
}

// Action says what a claim leads to.
type Action string

// The actions. The zero value is none of them.
const (
	Cede  Action = "cede"  // Git lets go of the fields while the claim holds
	Merge Action = "merge" // the keys lie in an atomic field: ours are enforced, this one's are kept
	Allow Action = "allow" // Git's word counts where it names the fields; where it does not, they are no drift
	Known Action = "none"  // no right at all: the writer is known, so that messages can name it
)

// Certainty says how a claim is known.
type Certainty string

// The certainties, the best first. The zero value is unknown.
const (
	Declared  Certainty = "declared"  // an object states the intent, or the API itself works so
	Annotated Certainty = "annotated" // the object in question bears a mark that asks for it
	Named     Certainty = "named"     // a field manager of that name has written the field
)

// Evidence is one way to recognise a writer. Each of its forms is one key: object, owner, annotation, label, manager, field,
// placeholder, grown, always, webhook. The other keys narrow it.
type Evidence struct {
	Object    Kind        `yaml:"object" json:"object,omitzero"`            // an object of this kind …
	Versions  []string    `yaml:"versions" json:"versions,omitempty"`       // … read at the first of these that is served …
	Refers    Path        `yaml:"refers" json:"refers,omitzero"`            // … refers by apiVersion, kind and name, or
	Names     []Path      `yaml:"names" json:"names,omitempty"`             // … names one of the kind To, or
	Namespace bool        `yaml:"namespace" json:"namespace,omitempty"`     // … rules the whole namespace that it stands in
	Items     []Path      `yaml:"items" json:"items,omitempty"`             // … and names here what $items in the entry's paths stands for
	To        Kind        `yaml:"to" json:"to,omitzero"`                    // where a reference names no kind
	Except    Path        `yaml:"except" json:"except,omitzero"`            // references to those that it leaves alone
	When      []Condition `yaml:"when" json:"when,omitempty"`               // only then does it claim
	Acts      []string    `yaml:"acts" json:"acts,omitempty"`               // conditions in its status; False: it stands still
	Resting   []string    `yaml:"resting" json:"resting,omitempty"`         // reasons of False conditions that are as they should be
	Owner     Kind        `yaml:"owner" json:"owner,omitzero"`              // the controller in metadata.ownerReferences
	Mark      string      `yaml:"annotation" json:"annotation,omitempty"`   // a key, with * for any text
	Label     string      `yaml:"label" json:"label,omitempty"`             // the same
	Value     string      `yaml:"value" json:"value,omitempty"`             // of the annotation or label, with * for any text
	Manager   string      `yaml:"manager" json:"manager,omitempty"`         // a field manager that owns the field, with * for any text
	Operation string      `yaml:"operation" json:"operation,omitempty"`     // Apply or Update
	Sub       string      `yaml:"subresource" json:"subresource,omitempty"` // such as scale
	Field     Path        `yaml:"field" json:"field,omitzero"`              // a field of the object is there
	In        []string    `yaml:"in" json:"in,omitempty"`                   // with one of these values
	Stand     bool        `yaml:"placeholder" json:"placeholder,omitempty"` // Git names the field with a placeholder
	Grown     bool        `yaml:"grown" json:"grown,omitempty"`             // live holds a greater quantity than Git
	Always    bool        `yaml:"always" json:"always,omitempty"`           // the kind alone says it
	Webhook   string      `yaml:"webhook" json:"webhook,omitempty"`         // a mutating webhook, its configuration or a mutating policy of this name matches the object, with * for any text
}

// Condition is about one field of a claimant. An absent field reads as the empty text.
type Condition struct {
	Path Path     `yaml:"path" json:"path"`
	In   []string `yaml:"in" json:"in,omitempty"`
	Not  []string `yaml:"not" json:"not,omitempty"`
}

// Count says between which values a claimant moves a number, and so what a new object starts with.
type Count struct {
	Min   Path  `yaml:"min" json:"min,omitzero"`
	Least int64 `yaml:"least" json:"least"` // where Min is absent
	Max   Path  `yaml:"max" json:"max,omitzero"`
	Most  int64 `yaml:"most" json:"most,omitempty"`  // where Max is absent
	Fixed Path  `yaml:"fixed" json:"fixed,omitzero"` // if this is there, it is the least and the greatest
	Zero  Zero  `yaml:"zero" json:"zero,omitempty"`
}

// Zero says what it means when the number is 0 although the least is more.
type Zero string

// The meanings. The zero value is Pause.
const (
	Pause Zero = "pause" // a person has switched the claimant off
	Own   Zero = "own"   // the claimant writes 0 itself
)

// Kind is a kind of object as Kind.group: Deployment.apps, Service, *.*.crossplane.io, * for any. A * stands for any text.
type Kind struct{ kind, group string }

func parseKind(s string) (Kind, error) {
	if s == "*" {
		return Kind{"*", "*"}, nil
	}
	kind, group, dot := strings.Cut(s, ".")
	if kind == "" || dot && group == "" || strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) && r != '.' && r != '*' }) {
		return Kind{}, fmt.Errorf("kind %q: want Kind or Kind.group, such as Deployment.apps", s)
	}
	return Kind{kind, group}, nil
}

// String prints Kind.group.
func (k Kind) String() string {
	if k.group == "" || k.kind == "*" && k.group == "*" {
		return k.kind
	}
	return k.kind + "." + k.group
}

// MarshalText prints Kind.group.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalYAML reads Kind.group; the error names the line.
func (k *Kind) UnmarshalYAML(n *yaml.Node) error {
	var text string
	err := n.Decode(&text)
	if err == nil {
		*k, err = parseKind(text)
	}
	return withLine(n.Line, err)
}

// Matches reports whether an object is of the kind.
func (k Kind) Matches(id object.ID) bool {
	return matchesGlob(k.kind, id.Kind) && matchesGlob(k.group, id.Group)
}

func (k Kind) given() bool { return k.kind != "" }

func (k Kind) open() bool { return strings.Contains(k.kind+k.group, "*") }

func matchesKind(all []Kind, id object.ID) bool {
	return slices.ContainsFunc(all, func(k Kind) bool { return k.Matches(id) })
}

// byObject reports whether the evidence is another object.
func (e Evidence) byObject() bool { return e.Object.given() }

// certainty is how strong this form of evidence is.
func (e Evidence) certainty() Certainty {
	switch {
	case e.Manager != "":
		return Named
	case e.Mark != "" || e.Label != "" || e.Stand:
		return Annotated
	}
	return Declared
}

// String returns the evidence in a few words: "a ScaledObject.keda.sh that refers to it (spec.scaleTargetRef)".
func (e Evidence) String() string {
	var b strings.Builder
	switch {
	case e.byObject():
		fmt.Fprintf(&b, "a %s %s", e.Object, e.way())
	case e.Owner.given():
		fmt.Fprintf(&b, "it is made by a %s (metadata.ownerReferences)", e.Owner)
	case e.Mark != "":
		b.WriteString("annotation " + e.Mark)
	case e.Label != "":
		b.WriteString("label " + e.Label)
	case e.Manager != "":
		b.WriteString("field manager " + strings.Join(strings.Fields(e.Manager+" "+e.Operation+" "+e.Sub), ", ") + " has written the field")
	case e.Field.given():
		fmt.Fprintf(&b, "%s is set", e.Field)
	case e.Stand:
		b.WriteString("Git names the field with a placeholder")
	case e.Grown:
		b.WriteString("live holds more than Git")
	case e.Webhook != "":
		b.WriteString("mutating webhook or policy " + e.Webhook)
	default:
		b.WriteString("the kind alone")
	}
	if e.Value != "" {
		b.WriteString(" = " + e.Value)
	}
	if len(e.In) > 0 {
		b.WriteString(" to " + strings.Join(e.In, " or "))
	}
	for i, c := range e.When {
		b.WriteString([]string{", while ", " and "}[min(i, 1)] + c.String())
	}
	if e.Except.given() {
		fmt.Fprintf(&b, ", but for %s", e.Except)
	}
	if len(e.Items) > 0 {
		b.WriteString("; $items: " + joinPaths(e.Items))
	}
	return b.String()
}

// way is how a claimant names the object that it writes to.
func (e Evidence) way() string {
	switch {
	case e.Refers.given():
		return "that refers to it (" + e.Refers.String() + ")"
	case e.Namespace:
		return "in its namespace"
	}
	return "that names it (" + joinPaths(e.Names) + ")"
}

func joinPaths(all []Path) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}

// String returns the condition: "spec.workloadRef.scaleDown is onsuccess or progressively".
func (c Condition) String() string {
	var parts []string
	if len(c.In) > 0 {
		parts = append(parts, c.Path.String()+" is "+orNothing(c.In))
	}
	if len(c.Not) > 0 {
		parts = append(parts, c.Path.String()+" is not "+orNothing(c.Not))
	}
	return strings.Join(parts, " and ")
}

func orNothing(values []string) string {
	out := slices.Clone(values)
	for i, v := range out {
		if v == "" {
			out[i] = "not set"
		}
	}
	return strings.Join(out, " or ")
}
