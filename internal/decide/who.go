package decide

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// attributeWriter joins what is known of the one who made a difference.
func attributeWriter(in Input, d compare.Difference, c claim.Claim) ownership.Writer {
	path := field.PathString(d.Path)
	h := in.Past.History(in.Owners, in.Hasher, d.Path, d.Live)
	k := attribution.Case{
		Path: d.Path, Live: d.Live, UID: in.Live.UID(), CorrectedAt: in.Memory.LastCorrection(path), Before: in.Past.Before(path, d.LiveHash(in.Hasher)), Now: in.Now,
		Scaler: c.Scaler(), Writer: d.Writer, Sender: h.Sender(), Hasher: in.Hasher,
	}
	switch w, ours := appliedByUs(in, d); {
	case ours:
		k.Hold, k.Writer = attribution.Ours, w
	case untouched(in, d, h):
		k.Hold = attribution.Untouched
	}
	return withHistory(in, d, attribution.Attribute(k, in.Witness))
}

// untouched reports whether a field has changed that no request has named. Our own entry, which a request that names a field of ours takes
// it from, shows that of a single value: a map that we named without content says nothing, since others may fill it.
func untouched(in Input, d compare.Difference, h ownership.History) bool {
	if d.Kind != compare.Changed {
		return false
	}
	if d.Writer.Manager == ownership.Manager { // truce has applied it: at another revision perhaps, or as it was while the field was another's
		return false
	}
	if h.Untouched(d.Path) {
		return true
	}
	_, isMap := d.Desired.Reveal().(map[string]any)
	return !isMap && !in.Changed && ownership.ApplyEntry(in.Owners, ownership.Manager).Leaf(d.Path) && !h.Wrote(ownership.Manager)
}

// appliedByUs returns truce as the writer of a value that it has applied: Git's earlier one, or one that an object was made with. What our
// handover holds was live before it, and who wrote that is not recorded.
func appliedByUs(in Input, d compare.Difference) (ownership.Writer, bool) {
	by := func(manager string) int {
		return slices.IndexFunc(in.Owners, func(e ownership.Entry) bool { return e.IsApply(manager) && e.Owns(d.Path, in.Owners) })
	}
	if i := by(ownership.Manager); i >= 0 && in.Changed && d.Kind != compare.Missing && d.Writer.Evidence != ownership.Recorded {
		before, had := field.ValueAt(in.Previous, d.Path)
		if had && field.EqualValues(before, d.Live.Reveal()) {
			return ourselves(in.Owners[i]), true
		}
	}
	if len(ownership.OthersOf(in.Owners, ownership.Handover, d.Path)) > 0 {
		return ownership.Writer{}, false
	}
	i := by(ownership.Handover)
	if i < 0 {
		return ownership.Writer{}, false
	}
	if madeByUs(in, in.Owners[i]) {
		return ourselves(in.Owners[i]), true
	}
	return ownership.Writer{Evidence: ownership.Unknown, Because: []string{"managedFields: " + ownership.Handover + " holds the value that was live when truce ceded the field"}}, true
}

// madeByUs reports whether the object was made by truce, and the handover followed at once: it holds what the object was made with.
func madeByUs(in Input, handover ownership.Entry) bool {
	text, _ := in.Live.At("metadata", "creationTimestamp").(string)
	made, err := time.Parse(time.RFC3339, text)
	if err != nil || handover.Time.Sub(made) > 2*time.Second {
		return false
	}
	return !slices.ContainsFunc(in.Owners, func(e ownership.Entry) bool {
		return e.Subresource == "" && !e.IsApply(ownership.Manager) && !e.IsApply(ownership.Handover)
	})
}

func ourselves(e ownership.Entry) ownership.Writer {
	return ownership.Writer{
		Name: ownership.Manager, Manager: e.Manager, Operation: e.Operation, Time: e.Time, AtLatest: true, Evidence: ownership.Recorded,
		Because: []string{"managedFields: " + e.Manager + ", " + e.Operation},
	}
}

// withHistory says what the field held before, and how often it was changed within the last hour: as fights count corrections, and as
// values of ceded fields were seen.
func withHistory(in Input, d compare.Difference, w ownership.Writer) ownership.Writer {
	path := field.PathString(d.Path)
	last := in.Memory.RecentChanges(path, in.Now)
	w.Often = max(last.Corrections+last.Values+1, in.Witness.Changes[path])
	switch seen := in.Memory.LastValue(path); {
	case seen == nil || redact.IsSecret(in.Desired.ID()) || redact.IsMasked(seen): // of a Secret's value only a mask is remembered
	case field.EqualValues(seen, d.Live.Reveal()):
		w.Often = max(w.Often-1, 1) // this value is counted
		w.Before = in.Memory.PreviousValue(path)
	default:
		w.Before = seen
	}
	return w
}
