package flux

import (
	"cmp"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// policy lays what the custom resource says over the process's policy, and that over the defaults.
func (r *reading) policy(cr object.Object, spec KustomizationSpec, process policy.Policy) policy.Policy {
	p := r.Policy(cr, process, policy.AdditionsPeople)
	p.Remediation = cmp.Or(process.Remediation, policy.Remediate)
	block := r.remediation(cr, spec.Remediation)
	if block == nil {
		return p
	}
	p.Remediation, p.Spacing = policy.ReportOnly, 0
	if block.Remediate != nil && *block.Remediate {
		p.Remediation = policy.Remediate
	}
	if block.Remediate == nil && !r.HasProblem("spec.remediation") {
		r.Note("remediation is set without remediate: true, so drift is reported and left alone")
	}
	if block.RemediationInterval != nil {
		p.Spacing = r.span("spec.remediation.remediationInterval", block.RemediationInterval.Duration)
	}
	return p
}

// remediation returns the block of the spec or of the annotation, nil if there is none. Both must say the same.
func (r *reading) remediation(cr object.Object, block *Remediation) *Remediation {
	text, there := cr.Annotation(remediateKey)
	if !there {
		return block
	}
	annotated := r.annotatedRemediation(text)
	if block != nil && annotated != nil && !sameRemediation(*block, *annotated) {
		r.Problem("annotation "+remediateKey, "says something else than spec.remediation; remove one of them")
	}
	return cmp.Or(block, annotated)
}

// annotatedRemediation reads true, false, or the block as YAML or JSON.
func (r *reading) annotatedRemediation(text string) *Remediation {
	switch v := r.yaml("annotation "+remediateKey, text).(type) {
	case bool:
		return &Remediation{Remediate: &v}
	case map[string]any:
		var in struct {
			Block *Remediation `json:"truce.dev/remediation"`
		}
		r.Decode("annotation ", map[string]any{remediateKey: v}, &in)
		return in.Block
	}
	r.Problem("annotation "+remediateKey, "want true, false, or what spec.remediation would hold, as YAML or JSON")
	return nil
}

func sameRemediation(a, b Remediation) bool {
	yes := func(x Remediation) bool { return x.Remediate != nil && *x.Remediate }
	spacing := func(x Remediation) int64 {
		if x.RemediationInterval == nil {
			return 0
		}
		return int64(x.RemediationInterval.Duration)
	}
	return yes(a) == yes(b) && spacing(a) == spacing(b)
}

// knownAnnotations are the annotations of truce that a dialect reads.
var knownAnnotations = []string{reader.ModeKey, reader.AdoptedKey, reader.AdoptedAtKey, reader.LostKey, reader.ClaimsKey, reader.PauseKey, reader.AdditionsKey, ignoreKey, remediateKey, identity.MovedToKey, reader.ApproveKey, reader.GuardKey, revisionKey, dependsOnKey}

// annotations refuses those that contradict each other, and reports what may be a typing error.
func (r *reading) annotations(cr object.Object) {
	r.CheckAgreement(cr)
	r.UnknownAnnotations(cr, reader.Ours, ": not one of truce's", knownAnnotations)
}
