package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
)

func ignoreManagersReset() rule {
	return rule{Rule{
		ID: "ignore-managers-reset", Severity: Warning, Fixable: true,
		Title: "an autoscaled count is ignored by its manager alone",
		Reason: "managedFieldsManagers covers what that manager has changed, not what Git takes away. When replicas leaves Git, as it should, " +
			"Argo CD predicts the default, 1, for a count of 7, shows OutOfSync, and the sync scales the workload from 7 to 1: neither this rule " +
			"nor RespectIgnoreDifferences helps, since there is nothing to copy. Also, the API server records the HPA as a manager only if " +
			"the count had an owner before.",
		Remedy: "Name the field, before replicas leaves Git:\n\n" +
			"    spec:\n      ignoreDifferences:\n      - {group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}\n\n" +
			"truce covers a field by its manager as long as that owns it, and hands an autoscaled count over in any case.",
		Source: "measured on Argo CD's diff: replicas removed from Git, live 7, predicted 1; kubernetes/kubernetes#131892",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, s := range j.scaling().scaled {
			i := slices.IndexFunc(s.unit.App.Ignore, func(r ignore.Rule) bool {
				return r.Target.Matches(s.object.Data) && slices.ContainsFunc(r.Managers, isAutoscalerManager)
			})
			if _, named := field.ValueAt(s.object.Data, s.claim.Path); i < 0 || !named || s.ignoring(s.claim.Path).manager == "" {
				continue
			}
			r := s.unit.App.Ignore[i]
			f := j.ruleFinding(s.unit, fmt.Sprintf("%s.managedFieldsManagers[%d]", r.Name, slices.IndexFunc(r.Managers, isAutoscalerManager)), "", "")
			f.Message = fmt.Sprintf("%s of %s covers the count of %s by its manager alone, and %s: when %s leaves Git, Argo CD scales it to 1", r.Name, s.unit.Name(), s.id(),
				s.who(), dottedField(s.claim.Path))
			f.Remedy = "add jsonPointers: [" + pointerTo(s.claim.Path) + "] to the rule"
			out = append(out, f)
		}
		return out
	}}
}

// isAutoscalerManager reports whether a field manager writes counts: the HPA controller in its various binaries, KEDA, the cluster autoscaler.
func isAutoscalerManager(manager string) bool {
	return slices.Contains([]string{"kube-controller-manager", "k3s", "kubelite", "keda", "keda-operator", "cluster-autoscaler"}, manager)
}

// pointerTo writes a path of names as a JSON pointer.
func pointerTo(p field.Path) string {
	var out field.Pointer
	for _, e := range p {
		if e.FieldName != nil {
			out = append(out, *e.FieldName)
		}
	}
	return out.String()
}
