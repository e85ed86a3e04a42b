package ignore

import (
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

var (
	metadata = field.Name("metadata")
	labels   = field.Name("metadata", "labels")
	names    = []field.Path{
		field.Name("apiVersion"), field.Name("kind"), field.Name("metadata", "name"), field.Name("metadata", "namespace"),
		field.Name("metadata", "labels", object.PartOf),
	}
)

// beside returns what may be covered of a path: itself, unless it is a name or holds names. Then it is all beside them.
func beside(s Sight, p field.Path) []field.Path {
	if field.IsKey(p) || slices.ContainsFunc(names, p.Equals) {
		return nil
	}
	if !p.Equals(metadata) && !p.Equals(labels) {
		return []field.Path{p}
	}
	var out []field.Path
	for _, name := range children(s, p) {
		out = append(out, beside(s, append(p.Copy(), field.Name(name)...))...)
	}
	return out
}

// children lists the names of a map's fields, in Git's object and in what we own.
func children(s Sight, p field.Path) []string {
	found := map[string]bool{}
	v, _ := field.Get(s.Desired, p)
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
