package claim

import (
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Replicas is the field that autoscalers claim.
func Replicas() field.Path { return field.NewPath("spec", "replicas") }

// builtinGroup reports whether the kinds of an API group are Kubernetes' own: those that scale keep their count in .spec.replicas.
func builtinGroup(group string) bool { return group == "" || group == "apps" }

// ScaleOf returns where objects of a CRD's kind keep, at a version, the count that their scale subresource writes: the version's
// subresources.scale.specReplicasPath, which holds names alone and begins with .spec. A version without one is read as the first
// that has one, since a claimant may name that. Empty: the kind has no scale subresource.
func ScaleOf(crd object.Object, version string) field.Path {
	versions, _ := crd.At("spec", "versions").([]any)
	var first field.Path
	for _, v := range versions {
		m, _ := v.(map[string]any)
		at, _ := object.Object(m).At("subresources", "scale", "specReplicasPath").(string)
		if at == "" {
			continue
		}
		p := field.NewPath(strings.Split(strings.TrimPrefix(at, "."), ".")...)
		if m["name"] == version {
			return p
		}
		if first == nil {
			first = p
		}
	}
	return first
}

// scaled puts the path behind the kind's scale subresource in the place of .spec.replicas.
func (s Subject) scaled(e *Entry, p field.Path) field.Path {
	if e.Count != nil && len(s.Scale) > 0 && p.Equals(Replicas()) {
		return s.Scale
	}
	return p
}

// Count is where the subject's kind keeps the count that /scale writes; nil where that is not known.
func (s Subject) Count() field.Path {
	if len(s.Scale) == 0 && builtinGroup(s.id().Group) {
		return Replicas()
	}
	return s.Scale
}

// mayScale reports whether an entry may be about a field of a custom resource although it names another one: only the CRD says
// where the count is, and that is somewhere in .spec.
func (e Entry) mayScale(id object.ID, f field.Path) bool {
	return e.Count != nil && !builtinGroup(id.Group) && len(f) > 0 && f[0].FieldName != nil && *f[0].FieldName == "spec"
}
