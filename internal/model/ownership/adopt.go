package ownership

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// appliers are the field managers under which Git is applied by those whose work truce takes over: Flux's two controllers, Argo CD's by
// either kind of apply, Helm, and kubectl's client-side apply, in whose name Argo CD and people apply as well.
var appliers = []string{"kustomize-controller", "helm-controller", "argocd-controller", "helm", "kubectl-client-side-apply"}

// lastApplied is the annotation of client-side apply. An adopted object is applied server-side.
var lastApplied = field.NewPath("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")

// IsApplier reports whether the entry is that of a manager that applies Git, or of kubectl's client-side apply.
func (o Entry) IsApplier() bool { return o.Subresource == "" && slices.Contains(appliers, o.Manager) }

// Writes reports whether the entry is that of a manager on the main resource, by an apply or by an update.
func (o Entry) Writes(manager string) bool { return o.Manager == manager && o.Subresource == "" }

// AppliesGit reports whether the field was applied under a name under which Git is applied.
func (w Writer) AppliesGit() bool {
	return w.Operation == "Apply" && slices.Contains(appliers, w.Manager)
}

// Applied returns the fields of an entry of a manager that applies Git, of which Adopt makes ours all but keep; none for another entry.
func (o Entry) Applied(keep []field.Path) []field.Path {
	if !o.IsApplier() {
		return nil
	}
	return slices.DeleteFunc(o.Fields.Paths(), func(p field.Path) bool { return staysForeign(p, keep) })
}

// staysForeign reports whether a field is not for us to own: kept by wish, or nothing that Git applies.
func staysForeign(p field.Path, keep []field.Path) bool {
	return field.HasPrefix(p, lastApplied) || field.HasPrefix(p, field.NewPath("status")) ||
		slices.ContainsFunc(keep, func(k field.Path) bool { return field.HasPrefix(p, k) })
}

// Managed are the managedFields of an object that was read in an API version.
type Managed struct {
	Fields     []any
	APIVersion string
}

// Adopt returns managedFields without the given entries: our apply entry has their fields beside its own, except for keep, which no manager
// owns any more. The API server would keep only one of two entries with one name, so the sets are united here. An entry in another API
// version than the object is read in is an error: paths mean something else there.
func (f Managed) Adopt(from []Entry, keep []field.Path) ([]any, error) {
	gives := func(m map[string]any) bool {
		return m["subresource"] == nil && slices.ContainsFunc(from, func(o Entry) bool {
			return m["manager"] == o.Manager && m["operation"] == o.Operation && m["apiVersion"] == o.APIVersion && o.Subresource == ""
		})
	}
	return uniteEntries(f.Fields, entryName{Manager, f.APIVersion}, gives, func(p field.Path) bool { return staysForeign(p, keep) })
}

// Release returns managedFields as they are when what was ours is manager's, but for drop, which lose their owner; so does what our
// handover has kept, since without an owner a value stays as it is until it is written.
func (f Managed) Release(manager string, drop []field.Path) ([]any, error) {
	kept := make([]any, 0, len(f.Fields))
	for _, e := range f.Fields {
		if m, ok := e.(map[string]any); !ok || !isEntryOf(m, Handover, "Apply") {
			kept = append(kept, e)
		}
	}
	return uniteEntries(kept, entryName{manager, f.APIVersion}, isOwnApply, func(p field.Path) bool {
		return slices.ContainsFunc(drop, func(d field.Path) bool { return field.HasPrefix(p, d) })
	})
}

// entryName names the apply entry that takes fields.
type entryName struct{ manager, apiVersion string }

// uniteEntries moves the fields of entries that give into one apply entry.
func uniteEntries(managedFields []any, to entryName, gives func(map[string]any) bool, but func(field.Path) bool) ([]any, error) {
	all := fieldpath.NewSet()
	var out []any
	for _, e := range managedFields {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields holds a %T, want a map", e)
		}
		takes := isEntryOf(m, to.manager, "Apply")
		if !takes && !gives(m) {
			out = append(out, m)
			continue
		}
		if m["apiVersion"] != to.apiVersion {
			return nil, fmt.Errorf("%v holds fields by %v, and Git names %s: they cannot become those of one manager", m["manager"], m["apiVersion"], to.apiVersion)
		}
		set, err := decodeSet(m["fieldsV1"])
		if err != nil {
			return nil, fmt.Errorf("fields of manager %q: %w", m["manager"], err)
		}
		all = all.Union(set)
	}
	if all.Empty() {
		return out, nil
	}
	fields, err := encodeSet(setWithout(all, but))
	if err != nil {
		return nil, err
	}
	return append(out, map[string]any{
		"manager": to.manager, "operation": "Apply", "apiVersion": to.apiVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
	}), nil
}

// setWithout returns the set without the fields to drop, and as an apply would have made it: an update owns a map for being there, and
// a manager that owns that and no longer names the map removes all in it that has no owner.
func setWithout(s *fieldpath.Set, drop func(field.Path) bool) *fieldpath.Set {
	above := fieldpath.NewSet()
	s.Iterate(func(p fieldpath.Path) {
		for i := 1; i < len(p); i++ {
			if p[i-1].FieldName != nil {
				above.Insert(p[:i].Copy())
			}
		}
	})
	gone := above
	s.Iterate(func(p fieldpath.Path) {
		if drop(p) {
			gone.Insert(p.Copy())
		}
	})
	return s.Difference(gone)
}
