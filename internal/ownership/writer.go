package ownership

import (
	"github.com/truce-gitops/truce/internal/field"
	"time"
)

// Evidence says how a writer is known.
type Evidence string

// The kinds of evidence. The zero value is no evidence at all.
const (
	Recorded Evidence = "recorded" // the server's managedFields name the manager
	Inferred Evidence = "inferred" // declared intent or the order of events point to it
	Unknown  Evidence = "unknown"  // nothing says who it was
)

// Writer is who set a field, as far as can be known.
type Writer struct {
	Name     string    // "kubectl (scale)", "HPA shop/web", or empty
	Person   bool      // a tool that people type into
	Time     time.Time // zero where the server recorded none
	Evidence Evidence
}

// String names the writer: "kubectl (scale)", "somebody (unknown)".
func (w Writer) String() string {
	if w.Name == "" {
		return "somebody (unknown)"
	}
	if w.Evidence == Inferred {
		return w.Name + " (inferred)"
	}
	return w.Name
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
			w = Writer{Name: o.String(), Person: IsPerson(o.Manager), Time: o.Time, Evidence: Recorded}
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
	o := later[0]
	return Writer{Name: o.String(), Person: IsPerson(o.Manager), Time: o.Time, Evidence: Inferred}
}
