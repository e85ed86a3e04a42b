package decide

import (
	"cmp"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// toHandOver lists the fields that would lose their last owner with our next apply: ours in the cluster, not in what is sent
// because they are withheld, and no others. What Git itself has dropped is not among them, unless a rule or a claim covers it,
// or it is a workload's count.
func toHandOver(in Input, p Plan, ours ownership.Shape) []field.Path {
	letGo := append([]field.Path(nil), p.Withheld...)
	if leavesCount(in, in.Count) {
		letGo = unionPaths(letGo, []field.Path{in.Count})
	}
	for _, c := range in.CededPaths() {
		if _, named := field.ValueAt(in.Desired, c); !named {
			letGo = unionPaths(letGo, []field.Path{c})
		}
	}
	var out []field.Path
	for _, w := range letGo {
		for _, q := range ours.Below(w) {
			if _, there := field.ValueAt(in.Live, q); there && len(ownership.OthersOf(in.Owners, ownership.Manager, q)) == 0 {
				out = unionPaths(out, []field.Path{q})
			}
		}
	}
	return out
}

// leavesCount reports whether the path is a workload's count of which Git says nothing: then it stays as it is. Who takes replicas out
// of Git leaves them to another writer, often to an autoscaler that does not exist yet; the server's default would be an outage.
func leavesCount(in Input, p field.Path) bool {
	_, named := field.ValueAt(in.Desired, in.Count)
	return len(in.Count) > 0 && p.Equals(in.Count) && !named
}

// unownedClaims lists claimed numbers without an owner: handed over even where Git never named them, so that the claimant's
// next write is recorded (measured: a scale write to an unowned field leaves no trace).
func unownedClaims(in Input, p Plan) []field.Path {
	if in.Policy.Claims != policy.ClaimsCede {
		return nil
	}
	var out []field.Path
	for _, c := range in.Claims {
		_, there := field.ValueAt(in.Live, c.Path)
		_, part := ownership.AtomicAncestor(in.Owners, c.Path)
		if c.Counts() && there && !part && !corrects(p.Findings, c.Path) && !isOwned(in.Owners, c.Path) {
			out = unionPaths(out, []field.Path{c.Path})
		}
	}
	return out
}

func isOwned(owners []ownership.Entry, p field.Path) bool {
	return slices.ContainsFunc(owners, func(o ownership.Entry) bool { return o.Owns(p, owners) })
}

// handoverBody names the paths at their live values, and with them all that the handover keeps alive already: an apply takes
// away what its manager owned and no longer names.
func handoverBody(in Input, paths []field.Path) object.Object {
	out := object.Object{
		"apiVersion": in.Live.APIVersion(), "kind": in.Live["kind"], "metadata": map[string]any{"name": in.Live.Name()},
	}
	if ns := in.Live.Namespace(); ns != "" {
		out.Metadata()["namespace"] = ns
	}
	all := append(ownership.ApplyEntry(in.Owners, ownership.Handover).Paths(), paths...)
	slices.SortStableFunc(all, func(a, b field.Path) int { return inLiveOrder(in.Live, a, b) })
	for _, p := range all {
		copyField(out, in, p)
	}
	return out
}

// inLiveOrder compares two paths, list items by where they stand in live: an apply puts a list into the order in which it
// names the items, and another order of containers is another pod template.
func inLiveOrder(o object.Object, a, b field.Path) int {
	var live any = map[string]any(o)
	for i := range min(len(a), len(b)) {
		if a[i].Equals(b[i]) {
			live, _ = field.ChildValue(live, a[i])
			continue
		}
		list, _ := live.([]any)
		return cmp.Or(cmp.Compare(itemPosition(list, a[i]), itemPosition(list, b[i])), a[i].Compare(b[i]))
	}
	return cmp.Compare(len(a), len(b))
}

func itemPosition(list []any, e field.Element) int {
	return slices.IndexFunc(list, func(item any) bool { return field.Matches(item, e) })
}

// copyField puts live's value of one owned field into out. Of a list item or a map that is owned by presence, only the
// presence counts: what is in it has paths of its own.
func copyField(out object.Object, in Input, p field.Path) {
	v, there := field.ValueAt(in.Live, p)
	if _, done := field.ValueAt(out, p); !there || done {
		return
	}
	last := p[len(p)-1]
	switch {
	case last.Key != nil:
		item := map[string]any{}
		for _, k := range *last.Key {
			item[k.Name] = k.Value.Unstructured()
		}
		v = item
	case ownedByPresence(in.Owners, p):
		v = map[string]any{}
	}
	field.SetValue(out, p, object.CloneValue(v))
}

// ownedByPresence reports whether our own entries name the field only because it is there.
func ownedByPresence(owners []ownership.Entry, p field.Path) bool {
	for _, manager := range []string{ownership.Manager, ownership.Handover} {
		if s := ownership.ApplyEntry(owners, manager); s.Has(p) && !s.Leaf(p) && len(s.Below(p)) > 1 {
			return true
		}
	}
	return false
}
