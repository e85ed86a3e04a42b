package ownership

import (
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/field"
)

// Evidence says how a writer is known.
type Evidence string

// The kinds of evidence. The zero value is no evidence at all.
const (
	Recorded Evidence = "recorded" // a record of the write names the writer: managedFields, the admission witness, the writer's own event
	Inferred Evidence = "inferred" // declared intent or the order of events point to it
	Unknown  Evidence = "unknown"  // nothing says who it was
)

// Writer is who set a field, as far as can be known.
type Writer struct {
	Name        string // "kubectl (scale)", "HPA shop/web", or empty
	Manager     string // the field manager; empty where none is recorded
	Operation   string // Apply, Update; or CREATE, UPDATE, DELETE where only the admission witness saw the write
	Subresource string // scale, or empty for the object itself
	// User is who sent the request, as the API server knew them: "alice", "system:serviceaccount:ci:deployer". Only the admission
	// witness sees that; empty without it.
	User   string
	During string // what the writer was asked to admit, where it is a mutating webhook or policy: "kubectl-annotate as alice"
	Person bool   // a tool that people type into
	Time   time.Time
	// Before is what the field held before, where truce has seen that; nil where not. Of a Secret it is masked with the finding.
	Before any
	// Often is how often the field was changed within the last hour, this time included; 0 where that is not known.
	Often    int
	Evidence Evidence
	Because  []string // a sentence for each witness: "managedFields: kubectl, Update of scale"
}

// String names the writer: "kubectl (scale) as alice", "somebody (unknown)".
func (w Writer) String() string {
	name := w.Name
	switch {
	case w.Name == "":
		return "somebody (unknown)"
	case w.During != "":
		name += " (while " + w.During + " wrote)"
	case w.User != "" && w.Manager != "" && strings.HasPrefix(w.Name, w.Manager): // a claimant needs no account beside its name
		name += " as " + w.User
	}
	if w.Evidence == Inferred {
		name += " (inferred)"
	}
	return name
}

// WriterOf returns who set p, by the owners of the live object: the latest recorded owner beside ours. Where nobody
// owns p and exactly one manager has written since our own last apply, it is inferred.
func WriterOf(owners []Entry, p field.Path) Writer {
	var w Writer
	for _, o := range OthersOf(owners, Manager, p) {
		if o.IsApply(Handover) {
			continue // it only keeps what others wrote
		}
		if w.Evidence == "" || o.Time.After(w.Time) || o.Subresource == "scale" {
			w = o.writer(Recorded)
		}
	}
	if w.Evidence == Recorded {
		return w
	}
	return inferred(owners)
}

func inferred(owners []Entry) Writer {
	var ours time.Time
	for _, o := range owners {
		if o.IsApply(Manager) {
			ours = o.Time
		}
	}
	var later []Entry
	for _, o := range owners {
		if o.Operation == "Update" && o.Subresource == "" && !o.Time.Before(ours) {
			later = append(later, o)
		}
	}
	if len(later) != 1 || ours.IsZero() {
		return Writer{Evidence: Unknown}
	}
	return later[0].writer(Inferred)
}

// writer is the entry as the one who set a field.
func (o Entry) writer(e Evidence) Writer {
	w := Writer{
		Name: o.String(), Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource,
		Person: IsPerson(o.Manager), Time: o.Time, Evidence: e,
	}
	said := "managedFields: " + o.Manager + ", " + o.Operation
	if o.Subresource != "" {
		said += " of " + o.Subresource
	}
	if e == Inferred {
		said += "; it is the only one to have written since our last apply, but does not own the field"
	}
	w.Because = []string{said}
	return w
}
