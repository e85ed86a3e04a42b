package ownership

import (
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
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
	Manager     string // the field manager; empty where none is recorded. It is what the sender calls itself: nothing checks it
	Operation   string // Apply, Update; or CREATE, UPDATE, DELETE where only the admission witness saw the write
	Subresource string // scale, status, or empty for the object itself
	// User is who sent the request, as the API server knew them: "alice", "system:serviceaccount:ci:deployer". Only the admission
	// witness sees that; empty without it.
	User   string
	During string // what the writer was asked to admit, where it is a mutating webhook or policy: "kubectl-annotate as alice"
	Person bool   // a tool that people type into
	Time   time.Time
	// AtLatest says that Time is only a bound: the manager wrote some field then, and this one then or before.
	AtLatest bool
	// Before is what the field held before, where truce has seen that; nil where not. Of a Secret it is masked with the finding.
	Before any
	// Often is how often the field was changed within the last hour, this time included; 0 where that is not known.
	Often    int
	Evidence Evidence
	Because  []string // a sentence for each witness: "managedFields: kubectl, Update of scale"
}

// String names the writer, such as "kubectl (scale) as alice", or says that it is unknown.
func (w Writer) String() string {
	name := w.Name
	switch {
	case w.Name == "":
		return "an unknown writer"
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

// WriterOf returns who set p by the owners of an object of which no earlier state is known.
func WriterOf(owners []Entry, p field.Path) Writer { return History{owners: owners}.WriterOf(p) }

// Author returns who set p to the value that it holds, truce among them.
func (h History) Author(p field.Path) Writer {
	all := slices.DeleteFunc(slices.Clone(h.owners), func(e Entry) bool { return !e.Owns(p, h.owners) })
	authors := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.IsApply(Handover) })
	switch e, alone := latestOwner(authors); {
	case alone:
		return e.writer()
	case len(authors) > 0:
		return together(authors)
	case len(all) > 0:
		return Writer{Evidence: Unknown, Because: []string{"managedFields: " + Handover + " holds the value that was live when truce ceded the field"}}
	}
	return Writer{Evidence: Unknown}
}

// together is for a value that several have applied.
func together(entries []Entry) Writer {
	return Writer{Evidence: Unknown, Because: []string{"managedFields: " + namedKeys(entries) + " applied this value; which of them was first is not recorded"}}
}

// History is what managedFields say of an object, and what they said when its fields were last seen to be good, if they were.
type History struct {
	owners []Entry
	seen   snapshot
	hasher Hasher
	single time.Time // when the one write arrived that came after seen; the zero time where there may have been several
}

// Known reports whether an earlier state was seen.
func (h History) Known() bool { return h.seen.known() }

// With returns the history of an object whose earlier state is the receiver's, and that has these owners now. Single is when the one write
// arrived that came between the two; the zero time where there may have been several.
func (h History) With(owners []Entry, single time.Time) History {
	h.owners, h.single = owners, single
	return h
}

// WriterOf returns who set p to a value that it did not hold in the state seen before. An owner of p is its writer if its entry has gained p, or was
// written since. Where p has no owner, the entry that the single write since has left is inferred.
func (h History) WriterOf(p field.Path) Writer {
	owners := h.others(p)
	if len(owners) == 0 {
		return h.Sender()
	}
	moved := slices.DeleteFunc(slices.Clone(owners), h.stood)
	moved = slices.DeleteFunc(moved, h.mayStand)
	switch e, alone := latestOwner(moved); {
	case len(moved) == 0:
		return Writer{Evidence: Unknown, Because: []string{"managedFields: " + namedKeys(owners) + " owns the field, and nothing shows that it has written since it held another value"}}
	case alone:
		w := e.writer()
		w.AtLatest = w.AtLatest && !slices.ContainsFunc(h.senders(), func(s Entry) bool { return s.String() == e.String() })
		return w
	default:
		return together(moved)
	}
}

// others are those that own p beside truce: its handover only holds what others wrote.
func (h History) others(p field.Path) []Entry {
	return slices.DeleteFunc(OthersOf(h.owners, Manager, p), func(e Entry) bool { return e.IsApply(Handover) })
}

// stood reports whether no request of the entry's manager has written it since: its time is as it was, and so old that a write would show,
// or the one write since was another's. That it has lost fields is the doing of those that have them now.
func (h History) stood(e Entry) bool {
	if !h.seen.known() || h.seen.wrote(h.hasher, e) {
		return false
	}
	return h.seen.settled(e) || len(h.senders()) > 0
}

// mayStand reports whether nothing shows that the entry was written since: its time is the same, to the second; or it keeps none, and others
// have written.
func (h History) mayStand(e Entry) bool {
	if !h.seen.known() || h.seen.wrote(h.hasher, e) {
		return false
	}
	return !e.Time.IsZero() || slices.ContainsFunc(h.owners, func(o Entry) bool {
		return o.Subresource != "status" && !o.IsApply(Manager) && !o.IsApply(Handover) && h.seen.wrote(h.hasher, o)
	})
}

// senders are the entries that the single write since has left: at most one, unless the clocks say nothing. Status writes are
// not waited for, and leave entries that are newer than that.
func (h History) senders() []Entry {
	if !h.seen.known() || h.single.IsZero() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(h.owners), func(e Entry) bool {
		return e.Subresource == "status" || e.IsApply(Manager) || e.IsApply(Handover) ||
			!h.seen.wrote(h.hasher, e) || h.single.Sub(e.Time).Abs() > written
	})
}

// Sender infers whose request the single write since was.
func (h History) Sender() Writer {
	senders := h.senders()
	if len(senders) != 1 {
		return Writer{Evidence: Unknown}
	}
	w := senders[0].writer()
	w.Evidence, w.Because[0] = Inferred, w.Because[0]+"; it alone has written since the field was last seen good, but does not own the field"
	return w
}

// latestOwner returns the one of a field's owners that gave it its value, and whether there is one. An update owns only what it changed,
// so that of an update and applies it is the update; of several updates, which only edited managedFields name, it is the newest. Applies
// of one value own it together.
func latestOwner(owners []Entry) (Entry, bool) {
	var out Entry
	n := 0
	for _, e := range owners {
		if e.Operation == "Apply" {
			continue
		}
		if n++; n == 1 || e.Time.After(out.Time) || e.Subresource == "scale" {
			out = e
		}
	}
	if n == 0 && len(owners) == 1 {
		return owners[0], true
	}
	return out, n > 0
}

// written is how far the time of an entry and the arrival of the event that shows it may be apart: clocks differ, and entries have
// seconds.
const written = 3 * time.Second

// Wrote reports whether the manager's own apply entry was written since.
func (h History) Wrote(manager string) bool {
	return slices.ContainsFunc(h.owners, func(e Entry) bool { return e.IsApply(manager) && h.seen.known() && h.seen.wrote(h.hasher, e) })
}

// Untouched reports whether each owner of p, truce included, stands as it was when p held another value: no request has named the field.
func (h History) Untouched(p field.Path) bool {
	if !h.seen.known() {
		return false
	}
	owned := false
	for _, e := range h.owners {
		if e.IsApply(Handover) || !e.Owns(p, h.owners) {
			continue
		}
		if owned = true; !h.stood(e) {
			return false
		}
	}
	return owned
}

func namedKeys(entries []Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.String())
	}
	return strings.Join(out, ", ")
}

// writer is the entry as the one who set a field.
func (o Entry) writer() Writer {
	w := Writer{
		Name: o.String(), Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource,
		Person: IsPerson(o.Manager), Time: o.Time, AtLatest: !o.Time.IsZero(), Evidence: Recorded,
	}
	said := "managedFields: " + o.Manager + ", " + o.Operation
	if o.Subresource != "" {
		said += " of " + o.Subresource
	}
	w.Because = []string{said}
	return w
}
