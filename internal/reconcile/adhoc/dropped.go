package adhoc

import (
	"encoding/json"
	"slices"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// updaters are the field managers that apply Git from the client: their entries hold what the server filled in, too.
var updaters = []string{"kubectl-client-side-apply", "argocd-controller", "argocd-application-controller", "kubectl-create"}

// lastApplied is the annotation in which those keep what they have applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// dropped lists what Git once named and no longer names, by what managedFields or the annotation of the last apply say that was applied: an
// apply would take it away. What would stay, since the server fills it in or another manager owns it too, is none.
func (j Comparer) dropped(s Subject, owners []ownership.Entry, found []compare.Difference) []compare.Difference {
	var out []compare.Difference
	for _, p := range appliedFields(s, owners) {
		value, there := field.ValueAt(s.Live, p)
		_, wanted := field.ValueAt(s.Desired.Data, p)
		inside := func(d compare.Difference) bool { return field.HasPrefix(p, d.Path) || field.HasPrefix(d.Path, p) }
		switch {
		case !there, wanted, len(p) == 0, isServers(p), field.IsListKey(p):
		case slices.ContainsFunc(found, inside), slices.ContainsFunc(out, inside):
		case isFilled(j.Kinds, s.Live, p):
		default:
			out = append(out, compare.Difference{Path: p, Kind: compare.Extra, Live: redact.HideValue(value), Writer: droppedBy(owners, p)})
		}
	}
	return out
}

// appliedFields are the fields that were applied, an item before its fields.
func appliedFields(s Subject, owners []ownership.Entry) []field.Path {
	if shape := applied(owners); !shape.Empty() {
		return solelyOwned(shape, owners, func(o ownership.Entry) bool { return o.IsApply(Applier(owners)) })
	}
	if text, ok := s.Live.Annotation(lastApplied); ok {
		return lastNamed(text, s, owners)
	}
	i := slices.IndexFunc(owners, isUpdater)
	if i < 0 || owners[i].Manager == "kubectl-create" {
		return nil
	}
	return solelyOwned(owners[i].Fields, owners, isUpdater)
}

func isUpdater(o ownership.Entry) bool {
	return o.Operation == "Update" && o.Subresource == "" && slices.Contains(updaters, o.Manager)
}

// solelyOwned returns the fields that no other manager owns: the others stay when they are applied no more.
func solelyOwned(shape ownership.Shape, owners []ownership.Entry, is func(ownership.Entry) bool) []field.Path {
	var out []field.Path
	for _, p := range shape.Paths() {
		also := func(o ownership.Entry) bool { return !is(o) && o.Fields.Has(p) }
		if !slices.ContainsFunc(owners, also) && (shape.Leaf(p) || isListItem(p)) {
			out = append(out, p)
		}
	}
	return out
}

func isListItem(p field.Path) bool { return p[len(p)-1].FieldName == nil }

// lastNamed are the fields that the annotation names and Git does not.
func lastNamed(text string, s Subject, owners []ownership.Entry) []field.Path {
	var last map[string]any
	if json.Unmarshal([]byte(text), &last) != nil {
		return nil // it was cut, or is none
	}
	applied := desired.Sanitise(object.Object(last))
	r := compare.CompareWithoutBaseline(compare.Pair{
		Desired: applied, Live: s.Desired.Data, Owners: owners, Native: desired.IsBuiltInGroup(s.Desired.GVK.Group),
	})
	var out []field.Path
	for _, d := range r.Differences {
		if d.Kind == compare.Missing && len(d.Path) > 0 {
			value, _ := field.ValueAt(applied, d.Path)
			out = append(out, leavesOf(d.Path, value)...)
		}
	}
	return out
}

// leavesOf are the fields of a map that was dropped as a whole: of what stays in it, some may be the server's.
func leavesOf(p field.Path, v any) []field.Path {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 || isListItem(p) {
		return []field.Path{p}
	}
	var out []field.Path
	for name, v := range m {
		out = append(out, leavesOf(append(p[:len(p):len(p)], field.NewPath(name)...), v)...)
	}
	slices.SortFunc(out, field.Path.Compare)
	return out
}

// isServers reports whether the field is none that Git names: status, the tools' marks, what the server writes.
func isServers(p field.Path) bool {
	name := func(i int) string {
		if i < len(p) && p[i].FieldName != nil {
			return *p[i].FieldName
		}
		return ""
	}
	switch name(0) {
	case "apiVersion", "kind", "status":
		return true
	case "metadata":
		return name(1) != "labels" && name(1) != "annotations" && name(1) != "finalizers" || isToolMark(name(2))
	}
	return false
}

// droppedBy returns the writer of a field that was applied once: the manager that applied it, or the one that has written it since.
func droppedBy(owners []ownership.Entry, p field.Path) ownership.Writer {
	for _, o := range owners {
		if (o.IsApply(Applier(owners)) || isUpdater(o)) && o.Fields.Has(p) {
			return ownership.Writer{Name: o.String(), Manager: o.Manager, Operation: o.Operation, Time: o.Time, Evidence: ownership.Recorded}
		}
	}
	return ownership.WriterOf(owners, p)
}
