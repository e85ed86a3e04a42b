// Package appset answers: which Applications does an ApplicationSet of Argo CD describe?
//
// In: an ApplicationSet, the files of its repository, and which addresses are this repository's.
// Out: the Applications that its controller would make, or why they are not known.
// Promise: neither the environment nor a clock is read; the same files give the same Applications; what a set can make is bounded.
// Not here: what becomes of the Applications (survey), generators that ask a cluster or a service.
package appset

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/object"
)

// maxSets bounds the Applications of a set, and what each of its generators gives.
const maxSets = 5000

// Sets implements discover.Sets for ApplicationSets.
type Sets struct{}

// Expand lists the Applications that an ApplicationSet describes (argo-cd 3.x, applicationset/), for generators that need no server: list, git,
// and matrix and merge of those. The files are those of the repository that git generators read: one whose address is here, or from which the
// Applications themselves are read. An error says why the Applications are not known.
func (Sets) Expand(set object.Object, files fs.FS, here discover.Addresses) ([]discover.Made, error) {
	spec, _ := set.At("spec").(map[string]any)
	m := &maker{set: set, spec: spec, template: mapValue(spec["template"]), files: &repository{files: files, here: here}}
	m.fill = newFiller(spec)
	for i, g := range listValue(spec["generators"]) {
		if err := m.generator(mapValue(g), fmt.Sprintf("spec.generators[%d]", i)); err != nil {
			return nil, err
		}
	}
	if len(m.out) == 0 {
		return nil, errors.New("its generators give no Application")
	}
	return m.out, nil
}

// maker is one Expand.
type maker struct {
	set            object.Object
	spec, template map[string]any
	fill           *filler
	files          *repository
	out            []discover.Made
}

// generator makes the Applications of the entry of spec.generators that stands at a field.
func (m *maker) generator(g map[string]any, at string) error {
	names, err := kindsOf(g)
	if err != nil {
		return err
	}
	for _, name := range names {
		one := mapValue(g[name])
		template := completed(mapValue(one["template"]), m.template)
		all, err := m.generated(asked{kind: name, at: at + "." + name, generator: one, selector: g["selector"], template: template})
		if err != nil {
			return err
		}
		if len(m.out)+len(all) > maxSets {
			return errTooMany
		}
		for _, p := range all {
			a, err := m.application(template, p.parameters)
			if err != nil {
				return err
			}
			m.out = append(m.out, discover.Made{Object: a, Templates: []string{patchField, at + "." + name + ".template", "spec.template"}, Parameters: p.from})
		}
	}
	return nil
}

var errTooMany = fmt.Errorf("it describes more than %d Applications, or a generator of it more parameters", maxSets)

// patchField is a text with a patch of every Application.
const patchField = "spec.templatePatch"

// application fills a template. Without parameters it stays as it is.
func (m *maker) application(template map[string]any, p parameters) (object.Object, error) {
	filled := map[string]any{"metadata": template["metadata"], "spec": template["spec"]}
	if len(p) > 0 {
		all, err := m.fill.all(filled, p)
		if err != nil {
			return nil, err
		}
		filled = mapValue(all)
	}
	if patch, ok := m.spec["templatePatch"].(string); ok {
		if err := m.patch(filled, patch, p); err != nil {
			return nil, fmt.Errorf("its templatePatch: %w", err)
		}
	}
	meta := completed(mapValue(filled["metadata"]), nil)
	meta["namespace"] = m.set.Namespace()
	a := object.Object{"apiVersion": m.set.APIVersion(), "kind": "Application", "metadata": meta, "spec": filled["spec"]}
	for _, o := range m.out {
		if o.Object.Name() == a.Name() {
			return nil, fmt.Errorf("two of its Applications are called %q, and Argo CD makes one of them", a.Name())
		}
	}
	return a, nil
}

// completed is a map with what is absent or empty in it taken from another, deeply. Neither is changed.
func completed(m, from map[string]any) map[string]any {
	out := make(map[string]any, len(m)+len(from))
	for k, v := range m {
		out[k] = v
	}
	for k, v := range from {
		mine, isMap := out[k].(map[string]any)
		theirs, both := v.(map[string]any)
		switch {
		case isMap && both:
			out[k] = completed(mine, theirs)
		case isEmptyValue(out[k]):
			out[k] = v
		}
	}
	return out
}

func isEmptyValue(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false || v == int64(0) || v == float64(0) || v == 0
}

func mapValue(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func listValue(v any) []any {
	l, _ := v.([]any)
	return l
}

func textValue(v any) string {
	s, _ := v.(string)
	return s
}
