package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// overlay checks what the request lays over the kustomization, which stands in no file. Components that may be absent and are do not
// get any further; one at an address is not absent from the files of the source, but elsewhere.
func (s *inputCheck) overlay(b *build) error {
	o := &b.request.Overlay
	var there []string
	for i, c := range o.Components {
		if o.Optional && s.isAbsent(path.Join(b.request.Path, c)) && !upstream.IsRemote(c) {
			continue
		}
		v := visit{o.Entry("components", i), b.request.Path, []string{b.request.Path}, s.rootNamespace(b)}
		if err := s.resource(v, &yaml.Node{Kind: yaml.ScalarNode, Value: c}, manifests); err != nil {
			return requestError(v.file, err)
		}
		there = append(there, c)
	}
	o.Components = there
	for i, p := range o.Patches {
		v := visit{o.PatchField(i), b.request.Path, []string{b.request.Path}, ""}
		if err := s.patch(v, p); err != nil {
			return requestError(v.file, err)
		}
	}
	return nil
}

func (s *inputCheck) isAbsent(name string) bool {
	_, err := fs.Stat(s.files.tree, name)
	return errors.Is(err, fs.ErrNotExist)
}

func (s *inputCheck) patch(v visit, p map[string]any) error {
	if text, ok := p["patch"].(string); ok {
		if err := anyYAML(v.file, []byte(text)); err != nil {
			return err
		}
	}
	if file, ok := p["path"].(string); ok {
		return s.yaml(v, &yaml.Node{Kind: yaml.ScalarNode, Value: file})
	}
	return nil
}

// requestError returns an error about the request with the field that asks for it, which is no file of the source.
func requestError(field string, err error) error {
	var at *render.Error
	switch {
	case !errors.As(err, &at) || at.File != field:
		return fmt.Errorf("%s: %w", field, err)
	case at.Line > 0:
		return fmt.Errorf("%s: line %d: %w", field, at.Line, at.Err)
	}
	return fmt.Errorf("%s: %w", field, at.Err)
}

// edit lays the request over the kustomization as Flux does (fluxcd/pkg/kustomize, Generator.GenerateManifest) and as Argo CD has
// `kustomize edit` do it (argo-cd util/kustomize, Build).
func (k *root) edit(r render.Request) error {
	o := r.Overlay
	k.set("namespace", r.Namespace)
	k.set("namePrefix", o.NamePrefix)
	k.set("nameSuffix", o.NameSuffix)
	k.buildMetadata(o)
	for _, lay := range []func(overlay.Overlay) error{k.components, k.patches, k.images, k.replicas, k.labels, k.annotations} {
		if err := lay(o); err != nil {
			return err
		}
	}
	return nil
}

func (k *root) set(field, value string) {
	if value != "" {
		k.fields[field] = value
	}
}

// buildMetadata replaces the kustomization's list, as Flux does.
func (k *root) buildMetadata(o overlay.Overlay) {
	if len(o.BuildMetadata) == 0 {
		return
	}
	list := make([]any, len(o.BuildMetadata))
	for i, entry := range o.BuildMetadata {
		list[i] = entry
	}
	k.fields["buildMetadata"] = list
}

// list is a field of the kustomization that lists things, ready to be appended to.
func (k *root) list(field string) ([]any, error) {
	list, ok := k.fields[field].([]any)
	if !ok && k.fields[field] != nil {
		return nil, fmt.Errorf("the kustomization's %s is no list", field)
	}
	return slices.Clone(list), nil
}

// components adds those that are not there already.
func (k *root) components(o overlay.Overlay) error {
	if len(o.Components) == 0 {
		return nil
	}
	list, err := k.list("components")
	if err != nil {
		return err
	}
	for _, c := range o.Components {
		if !slices.Contains(list, any(c)) {
			list = append(list, c)
		}
	}
	k.fields["components"] = list
	return nil
}

func (k *root) patches(o overlay.Overlay) error {
	if len(o.Patches) == 0 {
		return nil
	}
	list, err := k.list("patches")
	if err != nil {
		return err
	}
	for _, p := range o.Patches {
		list = append(list, p)
	}
	k.fields["patches"] = list
	return nil
}

func (k *root) images(o overlay.Overlay) error {
	if len(o.Images) == 0 {
		return nil
	}
	list, err := k.list("images")
	if err != nil {
		return err
	}
	for _, m := range o.Images {
		list = replace(list, m.Name, m.Over)
	}
	k.fields["images"] = list
	return nil
}

func (k *root) replicas(o overlay.Overlay) error {
	if len(o.Replicas) == 0 {
		return nil
	}
	list, err := k.list("replicas")
	if err != nil {
		return err
	}
	for _, r := range o.Replicas {
		list = replace(list, r.Name, func(map[string]any) map[string]any { return map[string]any{"name": r.Name, "count": r.Count} })
	}
	k.fields["replicas"] = list
	return nil
}

// replace puts what becomes of the entry of a name in its place, or adds it.
func replace(list []any, name string, over func(map[string]any) map[string]any) []any {
	for i, e := range list {
		if m, ok := e.(map[string]any); ok && m["name"] == name {
			list[i] = over(m)
			return list
		}
	}
	return append(list, over(map[string]any{"name": name}))
}

// labels adds to commonLabels, or to the entry of labels that goes to the same places.
func (k *root) labels(o overlay.Overlay) error {
	l := o.Labels
	if len(l.Pairs) == 0 {
		return nil
	}
	p := pairs{add: l.Pairs, force: l.Force, field: o.Field("commonLabels"), what: "label"}
	if l.Selectors {
		return p.onto(k.fields, "commonLabels")
	}
	list, err := k.list("labels")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(e any) bool {
		m, ok := e.(map[string]any)
		return ok && (m["includeSelectors"] == true) == l.Selectors && (m["includeTemplates"] == true) == l.Templates
	})
	if at < 0 {
		list, at = append(list, map[string]any{"includeTemplates": l.Templates}), len(list)
	}
	entry := maps.Clone(list[at].(map[string]any))
	list[at], k.fields["labels"] = entry, list
	return p.onto(entry, "pairs")
}

func (k *root) annotations(o overlay.Overlay) error {
	a := o.Annotations
	if len(a.Pairs) == 0 {
		return nil
	}
	return pairs{add: a.Pairs, force: a.Force, field: o.Field("commonAnnotations"), what: "annotation"}.onto(k.fields, "commonAnnotations")
}

// pairs are labels or annotations to add.
type pairs struct {
	add         map[string]string
	force       bool
	field, what string
}

// onto adds them to a map of fields.
func (p pairs) onto(fields map[string]any, key string) error {
	had, ok := fields[key].(map[string]any)
	if !ok && fields[key] != nil {
		return fmt.Errorf("%s: the kustomization's %s is no map", p.field, key)
	}
	out := maps.Clone(had)
	if out == nil {
		out = map[string]any{}
	}
	for _, k := range slices.Sorted(maps.Keys(p.add)) {
		if _, set := had[k]; set && !p.force {
			return fmt.Errorf("%s: the kustomization sets the %s %s already, and nothing says that it is to be replaced", p.field, p.what, k)
		}
		out[k] = p.add[k]
	}
	fields[key] = out
	return nil
}
