package ignore

import (
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

var (
	metadata = field.NewPath("metadata")
	labels   = field.NewPath("metadata", "labels")
	names    = []field.Path{
		field.NewPath("apiVersion"), field.NewPath("kind"), field.NewPath("metadata", "name"), field.NewPath("metadata", "namespace"),
		field.NewPath("metadata", "labels", object.PartOf),
	}
)

// pathsBeside returns what may be covered of a path: itself, unless it is a name or holds names. Then it is all beside them.
func pathsBeside(s Observed, p field.Path) []field.Path {
	if field.IsListKey(p) || slices.ContainsFunc(names, p.Equals) {
		return nil
	}
	if !p.Equals(metadata) && !p.Equals(labels) {
		return []field.Path{p}
	}
	var out []field.Path
	for _, name := range children(s, p) {
		out = append(out, pathsBeside(s, append(p.Copy(), field.NewPath(name)...))...)
	}
	return out
}

// children lists the names of a map's fields, in Git's object and in what we own.
func children(s Observed, p field.Path) []string {
	found := map[string]bool{}
	v, _ := field.ValueAt(s.Desired, p)
	m, _ := v.(map[string]any)
	for k := range m {
		found[k] = true
	}
	for _, q := range ownership.ApplyEntry(s.Owners, ownership.Manager).Below(p) {
		if len(q) > len(p) && q[len(p)].FieldName != nil {
			found[*q[len(p)].FieldName] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
