package argocd

import (
	"reflect"
	"slices"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlay changes spec.source.kustomize as the program argocd does (setKustomizeOpt of argo-cd). Where nothing is left in it, it goes.
func (e *edit) overlay(change dialect.Change) {
	c := change.Overlay
	asked := !reflect.DeepEqual(c, overlay.Change{})
	if !asked && len(change.Unset) == 0 || asked && e.severalSources() {
		return
	}
	at := func(key string) []string { return []string{"spec", "source", "kustomize", key} }
	e.SetText(c.NamePrefix, at("namePrefix")...)
	e.SetText(c.NameSuffix, at("nameSuffix")...)
	e.SetText(c.Namespace, at("namespace")...)
	e.SetText(c.Version, at("version")...)
	e.flag(c.WithoutSelectors, at("labelWithoutSelector"))
	e.flag(c.Templates, at("labelIncludeTemplates"))
	e.flag(c.ForceLabels, at("forceCommonLabels"))
	e.flag(c.ForceAnnotations, at("forceCommonAnnotations"))
	e.flag(c.Optional, at("ignoreMissingComponents"))
	e.pairs(c.Labels, at("commonLabels"))
	e.pairs(c.Annotations, at("commonAnnotations"))
	for _, m := range c.Images {
		e.entry(m.Name, m.String(), at("images"))
	}
	for _, r := range c.Replicas {
		e.entry(r.Name, map[string]any{"name": r.Name, "count": r.Count}, at("replicas"))
	}
	e.without(c.DropImages, at("images"))
	e.without(c.DropReplicas, at("replicas"))
	e.dropEmpty("spec", "source", "kustomize")
}

// flag sets a boolean; false is the same as nothing.
func (e *edit) flag(value *bool, path []string) {
	switch {
	case value == nil:
	case *value:
		e.Put(true, path...)
	default:
		e.Drop(path...)
	}
}

func (e *edit) pairs(values map[string]string, path []string) {
	if values == nil {
		return
	}
	out := make(map[string]any, len(values))
	for k, v := range values {
		out[k] = v
	}
	e.Put(out, path...)
}

// entry replaces the override for a name, or adds it.
func (e *edit) entry(name string, value any, path []string) {
	list, _ := e.CR.At(path...).([]any)
	list = slices.Clone(list)
	if at := slices.IndexFunc(list, func(v any) bool { return overrideOf(v) == name }); at >= 0 {
		list[at] = value
	} else {
		list = append(list, value)
	}
	e.Put(list, path...)
}

// without takes away the overrides for names.
func (e *edit) without(names, path []string) {
	for _, name := range names {
		if !e.dropEntries(func(v any) bool { return overrideOf(v) == name }, path) {
			e.Refuse("spec.source.kustomize.%s has nothing for %s", path[len(path)-1], name)
		}
	}
}

// overrideOf is the name that an entry of images or replicas is about.
func overrideOf(v any) string {
	switch v := v.(type) {
	case string:
		if m, err := overlay.ParseImage(v); err == nil {
			return m.Name
		}
		return v
	case map[string]any:
		name, _ := v["name"].(string)
		return name
	}
	return ""
}
