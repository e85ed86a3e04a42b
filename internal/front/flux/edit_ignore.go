package flux

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/front"
)

// differences adds and takes away rules: in spec.ignoreDifferences, or in the annotation where the cluster's CRD would drop them.
func (e *edit) differences(c front.Change) {
	if len(c.Ignore)+len(c.Unignore)+len(c.UnignoreAt) == 0 {
		return
	}
	where, list, err := e.ruleList()
	if err != nil {
		e.refuse("%v", err)
		return
	}
	gone := map[int]bool{}
	for _, i := range c.UnignoreAt {
		if i < 0 || i >= len(list) {
			e.refuse("%s has no rule %d; %s", where, i, listed(list))
			return
		}
		gone[i] = true
	}
	for _, d := range c.Unignore {
		r, err := translated(d)
		i := slices.IndexFunc(list, func(v any) bool { return compact(v) == compact(r) })
		if err != nil || i < 0 {
			e.refuse("%s has no such rule; %s", where, listed(list))
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
	e.writeRules(e.added(out, c.Ignore))
}

func (e *edit) added(list []any, rules []front.Difference) []any {
	for _, d := range rules {
		r, err := translated(d)
		if err != nil {
			e.refuse("%v", err)
			return list
		}
		if !slices.ContainsFunc(list, func(v any) bool { return compact(v) == compact(r) }) {
			list = append(list, r)
		}
	}
	return list
}

// ruleList returns the rules of the place where rules are to be written.
func (e *edit) ruleList() (where string, list []any, err error) {
	if !e.drops("spec.ignoreDifferences") {
		list, _ = e.cr.At("spec", "ignoreDifferences").([]any)
		return "spec.ignoreDifferences", list, nil
	}
	where = "annotation " + ignoreKey
	text, there := e.cr.Annotation(ignoreKey)
	if !there {
		return where, nil, nil
	}
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return where, nil, fmt.Errorf("%s: %s", where, plainly(err))
	}
	return where, list, nil
}

func (e *edit) writeRules(list []any) {
	path := []string{"spec", "ignoreDifferences"}
	var value any = list
	if e.drops("spec.ignoreDifferences") {
		path, value = []string{"metadata", "annotations", ignoreKey}, compact(list)
	}
	if len(list) == 0 {
		e.drop(path...)
		return
	}
	e.put(value, path...)
}

// translated is Argo CD's form of a rule as the documents' form: anchored patterns and JSON patches that remove.
func translated(d front.Difference) (map[string]any, error) {
	if len(d.JQPathExpressions) > 0 || len(d.ManagedFieldsManagers) > 0 {
		return nil, errors.New("a Kustomization has no place for jqPathExpressions and managedFieldsManagers: use jsonPointers")
	}
	target := map[string]any{}
	for key, text := range map[string]string{
		"group": pattern(d.Group), "kind": pattern(d.Kind), "name": regexp.QuoteMeta(d.Name), "namespace": regexp.QuoteMeta(d.Namespace),
	} {
		if text != "" {
			target[key] = text
		}
	}
	var patches []any
	for _, p := range d.JSONPointers {
		patches = append(patches, map[string]any{"op": "remove", "path": p})
	}
	return map[string]any{"target": target, "jsonPatches": patches}, nil
}

// pattern translates a glob into the regular expression that means the same. The empty text, which in Argo CD is the core group, is
// every group here: a kind tells them apart well enough, and Flux has no way to write it.
func pattern(glob string) string {
	var b strings.Builder
	for _, c := range glob {
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

// compact prints a rule in one line, with sorted keys.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func listed(list []any) string {
	if len(list) == 0 {
		return "there are none"
	}
	var all []string
	for i, v := range list {
		all = append(all, fmt.Sprintf("%d: %s", i, compact(v)))
	}
	return "there are " + strings.Join(all, ", ")
}
