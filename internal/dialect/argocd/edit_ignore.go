package argocd

import (
	"slices"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
)

// differences adds and takes away rules of spec.ignoreDifferences. A rule that is there already is not written twice.
func (e *edit) differences(c dialect.Change) {
	if len(c.Ignore)+len(c.Unignore)+len(c.UnignoreAt) == 0 {
		return
	}
	list, _ := e.CR.At("spec", "ignoreDifferences").([]any)
	gone := map[int]bool{}
	for _, i := range c.UnignoreAt {
		if i < 0 || i >= len(list) {
			e.Refuse("spec.ignoreDifferences has no rule %d; %s", i, editor.FormatEntries(list))
			return
		}
		gone[i] = true
	}
	for _, d := range c.Unignore {
		i := slices.IndexFunc(list, func(v any) bool { return sameRule(v, d) })
		if i < 0 {
			e.Refuse("spec.ignoreDifferences has no such rule: %s; %s", editor.CompactJSON(ignoreEntry(d)), editor.FormatEntries(list))
			return
		}
		gone[i] = true
	}
	var out []any
	for i, v := range list {
		if !gone[i] {
			out = append(out, v)
		}
	}
	for _, d := range c.Ignore {
		if !slices.ContainsFunc(out, func(v any) bool { return sameRule(v, d) }) {
			out = append(out, ignoreEntry(d))
		}
	}
	if len(out) == 0 {
		e.Drop("spec", "ignoreDifferences")
		return
	}
	e.Put(out, "spec", "ignoreDifferences")
}

// ignoreEntry is a rule as the custom resource holds it.
func ignoreEntry(d dialect.Difference) map[string]any {
	out := map[string]any{"kind": d.Kind}
	for key, text := range map[string]string{"group": d.Group, "name": d.Name, "namespace": d.Namespace} {
		if text != "" {
			out[key] = text
		}
	}
	for key, list := range map[string][]string{
		"jsonPointers": d.JSONPointers, "jqPathExpressions": d.JQPathExpressions, "managedFieldsManagers": d.ManagedFieldsManagers,
	} {
		if len(list) > 0 {
			out[key] = anyStrings(list)
		}
	}
	return out
}

func sameRule(v any, d dialect.Difference) bool {
	return editor.CompactJSON(v) == editor.CompactJSON(ignoreEntry(d))
}
