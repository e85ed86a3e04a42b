package flux

import (
	"encoding/json"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// overlay reads what is laid over the kustomization before it is built, or over the one that is generated where there is none.
func (r *reading) overlay(spec KustomizationSpec) overlay.Overlay {
	o := overlay.Overlay{
		Within: "spec", NamespaceBy: "targetNamespace", NamePrefix: spec.NamePrefix, NameSuffix: spec.NameSuffix,
		Components: spec.Components, Optional: spec.IgnoreMissingComponents,
	}
	o.Patches, o.PatchesBy = r.patches(spec)
	for i, entry := range spec.BuildMetadata {
		if entry != kustomizev1.BuildMetadataOriginAnnotations && entry != kustomizev1.BuildMetadataTransformerAnnotations {
			r.Problem(fmt.Sprintf("spec.buildMetadata[%d]", i), "want originAnnotations or transformerAnnotations, not %q", entry)
			continue
		}
		o.BuildMetadata = append(o.BuildMetadata, string(entry))
	}
	for _, m := range spec.Images {
		o.Images = append(o.Images, imageOverride(m))
	}
	if m := spec.CommonMetadata; m != nil {
		o.Metadata = overlay.Metadata{Labels: m.Labels, Annotations: m.Annotations}
	}
	r.CheckOverlay(o)
	return o
}

// patches are those of spec.patches, between those of the two fields that Flux has removed: there Kustomize applied them before and after.
// by is nil where only spec.patches has some.
func (r *reading) patches(spec KustomizationSpec) (all []map[string]any, by []string) {
	for i, p := range spec.PatchesStrategicMerge {
		all, by = append(all, map[string]any{"patch": string(p.Raw)}), append(by, fmt.Sprintf("patchesStrategicMerge[%d]", i))
	}
	for i, p := range spec.Patches {
		all, by = append(all, patchEntry(p)), append(by, fmt.Sprintf("patches[%d]", i))
	}
	for i, p := range spec.PatchesJSON6902 {
		field := fmt.Sprintf("patchesJson6902[%d]", i)
		operations, err := json.Marshal(p.Patch)
		if err != nil {
			r.Problem("spec."+field, "%v", err)
			continue
		}
		all, by = append(all, patchEntry(kustomize.Patch{Patch: string(operations), Target: &p.Target})), append(by, field)
	}
	if len(all) == len(spec.Patches) {
		by = nil
	}
	return all, by
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
