package reader

import (
	"cmp"
	"math"
	"strconv"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// The annotations of truce on the custom resource of an app, whatever its dialect.
const (
	Ours         = "truce.dev/" // what they all begin with
	ModeKey      = Ours + "mode"
	AdoptedKey   = Ours + "adopted"       // how the objects of another controller became truce's
	AdoptedAtKey = Ours + "adopted-at"    // when that was asked for
	LostKey      = Ours + "adoption-lost" // the write by which the other controller shows that it works again
	ClaimsKey    = Ours + "claims"
	PauseKey     = Ours + "pause"
	AdditionsKey = Ours + "additions"
	ApproveKey   = Ours + "approve-prune"
	GuardKey     = Ours + "prune-guard"
)

// Policy lays what the annotations say over the process's policy, and that over the defaults. What becomes of additions by default,
// and what is done about drift, is the dialect's.
func (r *Reader) Policy(cr object.Object, process policy.Policy, additions policy.ManualChanges) policy.Policy {
	return policy.Policy{
		Mode:      cmp.Or(ReadEnum(r, cr, ModeKey, policy.Enforce, policy.Observe, policy.Release), process.Mode, policy.Enforce),
		Claims:    cmp.Or(ReadEnum(r, cr, ClaimsKey, policy.ClaimsCede, policy.ClaimsReport, policy.ClaimsOff), process.Claims, policy.ClaimsCede),
		Pause:     cmp.Or(ReadEnum(r, cr, PauseKey, policy.PauseReport, policy.PauseCorrect), process.Pause, policy.PauseReport),
		Additions: cmp.Or(ReadEnum(r, cr, AdditionsKey, policy.AdditionsCorrect, policy.AdditionsReport, policy.AdditionsAllow), process.Additions, additions),
		Spacing:   process.Spacing,
	}
}

// CheckAgreement refuses annotations that cannot both hold.
func (r *Reader) CheckAgreement(cr object.Object) {
	claims, _ := cr.Annotation(ClaimsKey)
	pause, _ := cr.Annotation(PauseKey)
	if why := (policy.Policy{Claims: policy.Claims(claims), Pause: policy.ManualChanges(pause)}).Contradiction(); why != "" {
		r.Problem("annotation "+PauseKey, "%s", why)
	}
}

// PruneMost reads how many objects of the app may be pruned without approval; see app.App.PruneLimit.
func (r *Reader) PruneMost(cr object.Object) *int {
	text, there := cr.Annotation(GuardKey)
	if !there {
		return nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case text == "off":
		n = math.MaxInt
	case err != nil || n < 0:
		r.Problem("annotation "+GuardKey, "want off, or the number of objects that may be pruned within ten minutes without approval, not %q", text)
		return nil
	}
	return &n
}
