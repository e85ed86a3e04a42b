package flux

import (
	"fmt"
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// helmDrift reads spec.driftDetection. As in Flux drift is only corrected where its mode is enabled; a new release is applied whole in any mode.
func (r *reading) helmDrift(a *app.App, hr helmv2.HelmRelease) {
	switch mode := hr.GetDriftDetection().Mode; mode {
	case helmv2.DriftDetectionEnabled:
	case helmv2.DriftDetectionWarn, helmv2.DriftDetectionDisabled, "":
		if a.Policy.Remediation == policy.Remediate {
			a.Policy.Remediation = policy.RemediateInRollouts
		}
	default:
		r.Problem("spec.driftDetection.mode", "want enabled, warn or disabled, not %q", mode)
	}
}

// wholeObject is the JSON pointer of a whole document.
const wholeObject = ""

// driftRules are the fields of spec.driftDetection.ignore, and of the annotation that every app may have; and the opt-outs of the objects, among them
// those of entries with the empty pointer, of whose objects the drift is left.
func (r *reading) driftRules(cr object.Object, d *helmv2.DriftDetection) (ignore.Rules, optout.Rules) {
	var out ignore.Rules
	left := slices.Clip(helmOptOuts)
	if d != nil && !r.HasProblemWithin("spec.driftDetection.ignore") {
		for i, ig := range d.Ignore {
			rule := r.driftRule(fmt.Sprintf("spec.driftDetection.ignore[%d]", i), ig)
			whole := slices.Contains(ig.Paths, wholeObject)
			if whole {
				left = append(left, optout.Rule{Key: rule.Name, Match: optout.Selected, Effect: optout.KeepDrift, Objects: rule.Target})
			}
			if !whole || len(rule.Pointers) > 0 {
				out = r.rule(out, rule, len(ig.Paths))
			}
		}
	}
	return append(out, r.annotatedRules(cr)...), left
}

// driftRule reads the fields that an entry names, without the empty pointer.
func (r *reading) driftRule(name string, ig helmv2.IgnoreRule) ignore.Rule {
	out := ignore.Rule{Name: name}
	for j, p := range ig.Paths {
		if p != wholeObject {
			out.Pointers = r.pointer(out.Pointers, fmt.Sprintf("%s.paths[%d]", name, j), p)
		}
	}
	out.Target = r.target(name, ig.Target)
	return out
}
