package flux

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlay sets what a Kustomization has fields for, too.
func (e *edit) overlay(c overlay.Change) {
	e.SetText(c.NamePrefix, "spec", "namePrefix")
	e.SetText(c.NameSuffix, "spec", "nameSuffix")
	e.SetText(c.Namespace, "spec", "targetNamespace")
	if c.Optional != nil {
		e.Put(*c.Optional, "spec", "ignoreMissingComponents")
	}
	if len(c.Images)+len(c.DropImages) == 0 {
		return
	}
	list, _ := e.CR.At("spec", "images").([]any)
	list = slices.Clone(list)
	for _, m := range c.Images {
		entry := m.Over(map[string]any{"name": m.Name})
		if at := imageAt(list, m.Name); at >= 0 {
			list[at] = entry
		} else {
			list = append(list, entry)
		}
	}
	for _, name := range c.DropImages {
		at := imageAt(list, name)
		if at < 0 {
			e.Refuse("spec.images has nothing for %s", name)
			return
		}
		list = slices.Delete(list, at, at+1)
	}
	if len(list) == 0 {
		e.Drop("spec", "images")
		return
	}
	e.Put(list, "spec", "images")
}

func imageAt(list []any, name string) int {
	return slices.IndexFunc(list, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["name"] == name
	})
}
