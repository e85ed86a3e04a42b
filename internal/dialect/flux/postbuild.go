package flux

import (
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/truce-gitops/truce/internal/model/variables"
)

// postBuild reads the variables. As in Flux a value is one line: line breaks are taken out.
func (r *reading) postBuild(spec KustomizationSpec) variables.Spec {
	p := spec.PostBuild
	if p == nil {
		return variables.Spec{}
	}
	out := variables.Spec{}
	for name, value := range p.Substitute {
		if out.Values == nil {
			out.Values = map[string]string{}
		}
		out.Values[name] = strings.ReplaceAll(value, "\n", "")
	}
	switch p.SubstituteStrategy {
	case "", kustomizev1.SubstituteStrategyWithVariables:
	case kustomizev1.SubstituteStrategyAlways:
		out.When = variables.Always
	default:
		r.Problem("spec.postBuild.substituteStrategy", "want WithVariables or Always, not %q", p.SubstituteStrategy)
	}
	for i, from := range p.SubstituteFrom {
		field := fmt.Sprintf("spec.postBuild.substituteFrom[%d]", i)
		if from.Kind != "ConfigMap" && from.Kind != "Secret" {
			r.Problem(field+".kind", "want ConfigMap or Secret, not %q", from.Kind)
		}
		if from.Name == "" {
			r.Problem(field+".name", "required")
		}
		ref := variables.Reference{Kind: from.Kind, Name: from.Name}
		if from.Optional {
			ref.Presence = variables.Optional
		}
		out.From = append(out.From, ref)
	}
	return out
}
