package flux

import (
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlay reads what is laid over the kustomization before it is built, or over the one that is generated where there is none.
func (r *reading) overlay(spec KustomizationSpec) overlay.Overlay {
	o := overlay.Overlay{
		Within: "spec", NamespaceBy: "targetNamespace", NamePrefix: spec.NamePrefix, NameSuffix: spec.NameSuffix,
		Components: spec.Components, Optional: spec.IgnoreMissingComponents,
	}
	for _, p := range spec.Patches {
		o.Patches = append(o.Patches, patchEntry(p))
	}
	for _, m := range spec.Images {
		o.Images = append(o.Images, imageOverride(m))
	}
	if m := spec.CommonMetadata; m != nil {
		o.Metadata = overlay.Metadata{Labels: m.Labels, Annotations: m.Annotations}
	}
	for _, f := range o.Faults() {
		r.Problem(f.Field, "%s", f.Reason)
	}
	return o
}

// patchEntry is an entry of a kustomization's patches.
func patchEntry(p kustomize.Patch) map[string]any {
	out := map[string]any{"patch": p.Patch}
	if p.Target == nil {
		return out
	}
	target := map[string]any{}
	for key, text := range map[string]string{
		"group": p.Target.Group, "version": p.Target.Version, "kind": p.Target.Kind, "name": p.Target.Name, "namespace": p.Target.Namespace,
		"labelSelector": p.Target.LabelSelector, "annotationSelector": p.Target.AnnotationSelector,
	} {
		if text != "" {
			target[key] = text
		}
	}
	out["target"] = target
	return out
}

// imageOverride is an override that says only what is set. Tag and digest are one: who says one of them takes away the other.
func imageOverride(m kustomize.Image) overlay.Image {
	out := overlay.Image{Name: m.Name}
	if m.NewName != "" {
		out.NewName = &m.NewName
	}
	if m.NewTag != "" || m.Digest != "" {
		out.NewTag, out.Digest = &m.NewTag, &m.Digest
	}
	return out
}
