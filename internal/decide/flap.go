package decide

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// BackAndForth finds a field that we enforce against a claim: it is ours in the live object, and the claimant wants another number
// there. What is live is Git's at this moment and the claimant's at the next. wants is nil where the claimant does not say.
func BackAndForth(c claim.Claim, live object.Object, owners []ownership.Entry, wants any) (Finding, bool) {
	is, there := field.ValueAt(live, c.Path)
	ours := ownership.ApplyEntry(owners, ownership.Manager).Has(c.Path)
	if !c.Counts() || !there || !ours || wants == nil || c.Paused(is) || field.EqualValues(is, wants) {
		return Finding{}, false
	}
	d := compare.Difference{
		Path: c.Path, Kind: compare.Changed, Desired: redact.HideValue(is), Live: redact.HideValue(wants),
		Writer: ownership.Writer{Name: c.Name(), Evidence: ownership.Recorded},
	}
	reason := fmt.Sprintf("back and forth: %s sets %v, and %v is put back each time, as it is at this moment; %s", c.Name(), wants, is, c.Evidence)
	return Finding{Difference: d, Verdict: Contested, Reason: reason, Claimant: c.Name()}, true
}
