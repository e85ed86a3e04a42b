package argocd

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/ignore"
)

// rules reads spec.ignoreDifferences. Group and kind are globs, where an empty group is the core group; name and namespace are exact.
func (r *reading) rules(list []ignoreDifference) ignore.Rules {
	if r.HasProblemWithin("spec.ignoreDifferences") {
		return nil // read in part only
	}
	var out ignore.Rules
	for i, d := range list {
		out = append(out, r.rule(fmt.Sprintf("spec.ignoreDifferences[%d]", i), d))
	}
	return out
}

func (r *reading) rule(at string, d ignoreDifference) ignore.Rule {
	rule := ignore.Rule{
		Name: at, Queries: d.JQPathExpressions, Managers: d.ManagedFieldsManagers,
		Target: ignore.Target{Name: ignore.ExactPattern(d.Name), Namespace: ignore.ExactPattern(d.Namespace)},
	}
	var err error
	if rule.Target.Group, err = ignore.GlobPattern(d.Group); err != nil {
		r.Problem(at+".group", "%v", err)
	}
	if rule.Target.Kind, err = ignore.GlobPattern(d.Kind); err != nil {
		r.Problem(at+".kind", "%v", err)
	}
	if d.Kind == "" {
		r.Problem(at+".kind", "required: a kind, or * for all")
	}
	for j, text := range d.JSONPointers {
		p, err := ignore.ParsePointer(text)
		if err != nil {
			r.Problem(fmt.Sprintf("%s.jsonPointers[%d]", at, j), "%v", err)
			continue
		}
		rule.Pointers = append(rule.Pointers, p)
	}
	if len(d.JSONPointers)+len(d.JQPathExpressions)+len(d.ManagedFieldsManagers) == 0 {
		r.Problem(at, "names no field: want jsonPointers, jqPathExpressions or managedFieldsManagers")
	}
	return rule
}
