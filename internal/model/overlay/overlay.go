// Package overlay answers: what does an app change in what its files describe?
//
// In: the texts by which custom resources and flags write overrides of images and replicas.
// Out: Overlay, the neutral form of what a custom resource lays over a kustomization, and each part of it with the field that asks for it.
// Promise: pure; no word of it belongs to one dialect; a text that is no override is refused, never guessed at.
// Not here: reading custom resources (dialect), laying the parts over files (render/kustomize), the target namespace (app).
package overlay

import (
	"maps"
	"slices"
	"strconv"
)

// Overlay is what an app changes in the objects that its files describe, by the fields of a kustomization
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization). Its zero value changes nothing.
type Overlay struct {
	// Within is the field of the custom resource that holds all these, such as "spec". NamespaceBy is the one below it that says the
	// target namespace.
	Within, NamespaceBy string

	NamePrefix, NameSuffix string // instead of the kustomization's
	// Components are directories relative to the app's, or addresses. Optional leaves out directories that are not there.
	Components []string
	Optional   bool
	// Patches are entries of the field of that name: maps with "patch" or "path", "target" and "options".
	Patches []map[string]any
	// PatchesBy are the fields of the custom resource that ask for them, below Within; none where that is the list patches.
	PatchesBy []string
	Images    []Image
	Replicas  []Replica
	// BuildMetadata lists what the build notes in annotations, instead of the kustomization's list.
	BuildMetadata []string
	// Labels and Annotations are commonLabels and commonAnnotations.
	Labels      Labels
	Annotations Annotations
	// Metadata is put on the objects when all else is done. No kustomization takes part in it.
	Metadata Metadata `json:"-"`
}

// Image is an override of images, by their name without a tag. In the parts nil keeps what the kustomization says, and an empty text
// takes it away.
type Image struct {
	Name                    string
	NewName, NewTag, Digest *string
}

// Replica is the number of replicas of the workloads of a name.
type Replica struct {
	Name  string
	Count int64
}

// Labels are put on every object.
type Labels struct {
	Pairs map[string]string
	// Selectors and Templates say whether they are put into the selectors and the pods' templates, too; selectors bring templates.
	Selectors, Templates bool
	Force                bool // over a label of the kustomization's own, which is an error otherwise
}

// Annotations are put on every object, and on the pods' templates.
type Annotations struct {
	Pairs map[string]string
	Force bool // over an annotation of the kustomization's own, which is an error otherwise
}

// Metadata are labels and annotations of the objects themselves.
type Metadata struct {
	Labels, Annotations map[string]string
}

// Builds reports whether the overlay changes what is built.
func (o Overlay) Builds() bool {
	return o.NamePrefix != "" || o.NameSuffix != "" || len(o.Components)+len(o.Patches)+len(o.Images)+len(o.Replicas)+len(o.BuildMetadata) > 0 ||
		len(o.Labels.Pairs)+len(o.Annotations.Pairs) > 0
}

// Field is the path in the custom resource of a field of the overlay, such as spec.images.
func (o Overlay) Field(name string) string {
	if o.Within == "" {
		return name
	}
	return o.Within + "." + name
}

// Entry is the path in the custom resource of an entry of a list of the overlay, such as spec.images[0].
func (o Overlay) Entry(name string, i int) string { return o.Field(name) + "[" + strconv.Itoa(i) + "]" }

// PatchField is the path in the custom resource of what asks for a patch.
func (o Overlay) PatchField(i int) string {
	if i < len(o.PatchesBy) {
		return o.Field(o.PatchesBy[i])
	}
	return o.Entry("patches", i)
}

// Pair is the path in the custom resource of a key of a map of the overlay, such as spec.commonLabels[team].
func (o Overlay) Pair(name, key string) string { return o.Field(name) + "[" + key + "]" }

// Part is one change by itself: the path of what asks for it, and a kustomization that would make nothing but it.
type Part struct {
	Field         string
	Kustomization map[string]any
}

// Parts lists the changes of the overlay and of the target namespace, empty for none, in the order in which Kustomize makes them. The
// components are none of them: what they change stands in their own files.
func (o Overlay) Parts(namespace string) []Part {
	var out []Part
	add := func(field, key string, value any) {
		out = append(out, Part{Field: field, Kustomization: map[string]any{key: value}})
	}
	for i, p := range o.Patches {
		add(o.PatchField(i), "patches", []any{p})
	}
	texts := [...]struct{ by, key, value string }{
		{o.NamespaceBy, "namespace", namespace}, {"namePrefix", "namePrefix", o.NamePrefix}, {"nameSuffix", "nameSuffix", o.NameSuffix},
	}
	for _, t := range texts {
		if t.value != "" {
			add(o.Field(t.by), t.key, t.value)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o.Labels.Pairs)) {
		entry := map[string]any{
			"pairs": map[string]any{k: o.Labels.Pairs[k]}, "includeSelectors": o.Labels.Selectors, "includeTemplates": o.Labels.Templates,
		}
		add(o.Pair("commonLabels", k), "labels", []any{entry})
	}
	for _, k := range slices.Sorted(maps.Keys(o.Annotations.Pairs)) {
		add(o.Pair("commonAnnotations", k), "commonAnnotations", map[string]any{k: o.Annotations.Pairs[k]})
	}
	for i, r := range o.Replicas {
		add(o.Entry("replicas", i), "replicas", []any{map[string]any{"name": r.Name, "count": r.Count}})
	}
	for i, m := range o.Images {
		add(o.Entry("images", i), "images", []any{m.Over(map[string]any{"name": m.Name})})
	}
	return out
}
