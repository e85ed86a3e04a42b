package decide

import (
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/ownership"
	"github.com/truce-gitops/truce/internal/redact"
	"github.com/truce-gitops/truce/internal/witness"
)

// who joins what is known of the one who made a difference.
func who(in Input, d compare.Difference, c claim.Claim) ownership.Writer {
	path := field.String(d.Path)
	w := witness.Attribute(witness.Case{
		Path: d.Path, Live: d.Live, Keeps: keeps(in, d), UID: in.Live.UID(), Put: in.Memory.LastCorrection(path), Now: in.Now,
		Claim: c, Writer: d.Writer, Hasher: in.Hasher,
	}, in.Witness)
	return lately(in, d, w)
}

// keeps reports whether our own entry owns a field as a single value that is another one now: a map that we named without content
// says nothing, since others may fill it.
func keeps(in Input, d compare.Difference) bool {
	if _, isMap := d.Desired.(map[string]any); isMap || d.Kind != compare.Changed || in.Changed {
		return false
	}
	return ownership.ApplyEntry(in.Owners, ownership.Manager).Leaf(d.Path)
}

// lately says what the field held before, and how often it was changed within the last hour: as fights count corrections, and as
// values of ceded fields were seen.
func lately(in Input, d compare.Difference, w ownership.Writer) ownership.Writer {
	path := field.String(d.Path)
	last := in.Memory.Lately(path, in.Now)
	w.Often = max(last.Corrections+last.Values+1, in.Witness.Often[path])
	switch seen := in.Memory.Value(path); {
	case seen == nil || redact.IsSecret(in.Desired.ID()): // of a Secret only a mask is remembered
	case field.Equal(seen, d.Live):
		w.Often = max(w.Often-1, 1) // this value is counted
		w.Before = in.Memory.Before(path)
	default:
		w.Before = seen
	}
	return w
}
