package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	annotation "github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view/othercontroller"
)

// keptByGenerator returns an error where an ApplicationSet would take the annotations of an adoption off an Application that it generates: it puts back
// what its template says, but for spec.preservedFields.annotations, and Argo CD would work on the app beside truce.
func (c *Cluster) keptByGenerator(ctx context.Context, cr object.Object) error {
	by := dialect.ParentOf(cr, func(app.Key) bool { return false }).Generator
	if by.Name == "" {
		return nil
	}
	set, err := c.optional(ctx, object.GVK{Group: "argoproj.io", Version: "v1alpha1", Kind: by.Kind}, by)
	if err != nil || set == nil {
		return err
	}
	if sync := set.StringAt("spec", "syncPolicy", "applicationsSync"); sync == "create-only" || sync == "create-delete" {
		return nil // it leaves what is there as it is
	}
	settings, err := c.optional(ctx, object.GVK{Version: "v1", Kind: "ConfigMap"}, app.Key{Namespace: by.Namespace, Name: "argocd-cmd-params-cm"})
	if err != nil {
		return err
	}
	kept := strings.Split(settings.StringAt("data", "applicationsetcontroller.global.preserved.annotations"), ",")
	named, _ := set.At("spec", "preservedFields", "annotations").([]any)
	for _, v := range named {
		kept = append(kept, fmt.Sprint(v))
	}
	templated, _ := set.At("spec", "template", "metadata", "annotations").(map[string]any)
	needs := []string{othercontroller.SkipReconcile, annotation.AdoptedKey, annotation.AdoptedAtKey, annotation.LostKey, annotation.ModeKey}
	needs = slices.DeleteFunc(needs, func(key string) bool { return slices.Contains(kept, key) || templated[key] != nil })
	if len(needs) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s is not adopted: %s %s/%s, which generates it, would take annotations of the adoption off, and Argo CD would work on the app again; add them to its spec.preservedFields.annotations first: %s",
		app.Key{Kind: "Application", Namespace: cr.Namespace(), Name: cr.Name()}, by.Kind, by.Namespace, by.Name, strings.Join(needs, ", "))}
}

// optional reads an object; nil where it, or its kind, is not there.
func (c *Cluster) optional(ctx context.Context, gvk object.GVK, key app.Key) (object.Object, error) {
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
	o, err := nilIfAbsent(c.engine.Live.Get(ctx, gvk, id))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	return o, nil
}
