package flux

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/ignore"
)

// differences adds and takes away rules: in spec.ignoreDifferences, or in the annotation where the cluster's CRD would drop them.
func (e *edit) differences(c dialect.Change) {
	if len(c.Ignore)+len(c.Unignore)+len(c.UnignoreAt) == 0 {
		return
	}
	where, list, err := e.ruleList()
	if err != nil {
		e.Refuse("%v", err)
		return
	}
	gone := map[int]bool{}
	for _, i := range c.UnignoreAt {
		if i < 0 || i >= len(list) {
			e.Refuse("%s has no rule %d; %s", where, i, editor.FormatEntries(list))
			return
		}
		gone[i] = true
	}
	for _, d := range c.Unignore {
		r, err := translated(d)
		i := slices.IndexFunc(list, func(v any) bool { return editor.CompactJSON(v) == editor.CompactJSON(r) })
		if err != nil || i < 0 {
			e.Refuse("%s has no such rule; %s", where, editor.FormatEntries(list))
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

func (e *edit) added(list []any, rules []dialect.Difference) []any {
	for _, d := range rules {
		r, err := translated(d)
		if err != nil {
			e.Refuse("%v", err)
			return list
		}
		if !slices.ContainsFunc(list, func(v any) bool { return editor.CompactJSON(v) == editor.CompactJSON(r) }) {
			list = append(list, r)
		}
	}
	return list
}

// ruleList returns the rules of the place where rules are to be written.
func (e *edit) ruleList() (where string, list []any, err error) {
	if !e.drops("spec.ignoreDifferences") {
		list, _ = e.CR.At("spec", "ignoreDifferences").([]any)
		return "spec.ignoreDifferences", list, nil
	}
	where = "annotation " + ignoreKey
	text, there := e.CR.Annotation(ignoreKey)
	if !there {
		return where, nil, nil
	}
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return where, nil, fmt.Errorf("%s: %s", where, reader.DecodeErrorText(err))
	}
	return where, list, nil
}

func (e *edit) writeRules(list []any) {
	path := []string{"spec", "ignoreDifferences"}
	var value any = list
	if e.drops("spec.ignoreDifferences") {
		path, value = []string{"metadata", "annotations", ignoreKey}, editor.CompactJSON(list)
	}
	if len(list) == 0 {
		e.Drop(path...)
		return
	}
	e.Put(value, path...)
}

// translated is Argo CD's form of a rule as the documents' form: anchored patterns and JSON patches that remove.
func translated(d dialect.Difference) (map[string]any, error) {
	if len(d.JQPathExpressions) > 0 || len(d.ManagedFieldsManagers) > 0 {
		return nil, errors.New("a Kustomization has no place for jqPathExpressions and managedFieldsManagers: use jsonPointers")
	}
	group, err := pattern(d.Group)
	if err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	kind, err := pattern(d.Kind)
	if err != nil {
		return nil, fmt.Errorf("kind: %w", err)
	}
	target := map[string]any{}
	for key, text := range map[string]string{
		"group": group, "kind": kind, "name": regexp.QuoteMeta(d.Name), "namespace": regexp.QuoteMeta(d.Namespace),
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

// pattern translates a glob into the regular expression that means the same, without the anchors that Flux adds itself. The empty
// text, which in Argo CD is the core group, is every group here: a kind distinguishes them well enough, and Flux has no way to write it.
func pattern(glob string) (string, error) {
	re, err := ignore.GlobPattern(glob)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(re.String(), "^(?s:"), ")$"), nil
}
