package argocd

import (
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// policy lays what the custom resource says over the process's policy, and that over the defaults. What is done about drift is said
// by spec.syncPolicy.
func (r *reading) policy(cr object.Object, process policy.Policy) policy.Policy {
	return r.Policy(cr, process, policy.AdditionsReport) // Argo CD itself neither shows nor removes what is added by hand
}

// annotationsRead are the annotations of truce that this dialect reads.
var annotationsRead = []string{reader.ModeKey, reader.AdoptedKey, reader.AdoptedAtKey, reader.LostKey, reader.ClaimsKey, reader.PauseKey, reader.AdditionsKey, identity.MovedToKey, reader.ApproveKey, reader.GuardKey}

// annotations refuses those that contradict each other, and reports what may be a typing error.
func (r *reading) annotations(cr object.Object) {
	r.CheckAgreement(cr)
	r.UnknownAnnotations(cr, reader.Ours, " on an Application", annotationsRead)
}
