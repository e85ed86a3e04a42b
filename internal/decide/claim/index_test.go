package claim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
	"pgregory.net/rapid"
)

// TestTheIndexAnswersAsALookAtAllClaimantsDoes draws histories of claimants that come, change their targets and go.
func TestTheIndexAnswersAsALookAtAllClaimantsDoes(t *testing.T) {
	c := claim.Builtin()
	rapid.Check(t, func(t *rapid.T) {
		var ix claim.Index
		now := map[object.ID]object.Object{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			o := claimant(t)
			before := allOf(c, now)
			if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
				delete(now, o.ID())
				checkEntries(t, c, ix.Put(o.ID(), nil), before, now)
			} else {
				now[o.ID()] = o
				checkEntries(t, c, ix.Put(o.ID(), c.Read(o)), before, now)
			}
			if d := cmp.Diff(printed(allOf(c, now)), printed(ix.Claimants())); d != "" {
				t.Fatalf("claimants: %s", d)
			}
		}
		for _, id := range targets() {
			want := printed(slices.DeleteFunc(allOf(c, now), func(x claim.Claimant) bool { return !means(x, id) }))
			if d := cmp.Diff(want, printed(ix.For(id))); d != "" {
				t.Fatalf("%s: %s", id, d)
			}
			if targeted := len(want) > 0; ix.Targets(id) != targeted {
				t.Fatalf("%s: targeted, want %v", id, targeted)
			}
		}
	})
}

// checkEntries compares the targets that Put has named with those whose claimants have changed.
func checkEntries(t *rapid.T, c *claim.Catalogue, changed []object.ID, before []claim.Claimant, now map[object.ID]object.Object) {
	after := allOf(c, now)
	differ := map[object.ID]bool{}
	for _, x := range before {
		differ[x.Target] = differ[x.Target] || !slices.Contains(after, x)
	}
	for _, x := range after {
		differ[x.Target] = differ[x.Target] || !slices.Contains(before, x)
	}
	for id, d := range differ {
		if d != slices.Contains(changed, id) {
			t.Fatalf("%s: changed %v, told %v", id, d, changed)
		}
	}
}

func allOf(c *claim.Catalogue, now map[object.ID]object.Object) []claim.Claimant {
	var out []claim.Claimant
	for _, o := range now {
		out = append(out, c.Read(o)...)
	}
	return out
}

func printed(all []claim.Claimant) []string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprint(c.ID, c.Target, c.Entry, c.Min, c.Max, c.Evidence, c.Idle, c.App, c.Owner))
	}
	slices.Sort(out)
	return out
}

// means says in the plainest way whom a claimant means.
func means(c claim.Claimant, id object.ID) bool {
	if c.Target.Name == "" {
		return c.Target.Group == id.Group && c.Target.Kind == id.Kind && c.Target.Namespace == id.Namespace && id.Name != "spared"
	}
	if c.Target.Group == "" && c.ID.Kind == "HorizontalPodAutoscaler" {
		id.Group = ""
	}
	return c.Target == id
}

var names = []string{"web", "cart", "spared"}

func targets() (out []object.ID) {
	for _, ns := range []string{"shop", "other"} {
		for _, n := range names {
			out = append(out, object.ID{Group: "apps", Kind: "Deployment", Namespace: ns, Name: n}, object.ID{Group: "x.io", Kind: "Deployment", Namespace: ns, Name: n},
				object.ID{Kind: "Service", Namespace: ns, Name: n}, object.ID{Group: "argoproj.io", Kind: "Rollout", Namespace: ns, Name: n})
		}
	}
	return out
}

func claimant(t *rapid.T) object.Object {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	meta := map[string]any{"name": pick("name", "a", "b", "c"), "namespace": pick("namespace", "shop", "other")}
	ref := map[string]any{"kind": pick("kind", "Deployment", "Rollout"), "name": pick("target", names...)}
	if v := pick("version", "", "apps/v1", "x.io/v1", "argoproj.io/v1alpha1"); v != "" {
		ref["apiVersion"] = v
	}
	switch pick("claimant", "hpa", "hpa", "keda", "rollout", "green") {
	case "hpa":
		return object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta,
			"spec": map[string]any{"scaleTargetRef": ref, "minReplicas": rapid.Int64Range(1, 3).Draw(t, "min"), "maxReplicas": int64(10)}}
	case "keda":
		return object.Object{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": meta, "spec": map[string]any{"scaleTargetRef": ref}}
	case "rollout":
		return object.Object{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": meta, "spec": map[string]any{
			"strategy": map[string]any{"canary": map[string]any{"stableService": pick("stable", names...), "canaryService": pick("canary", names...)}}}}
	}
	return object.Object{"apiVersion": "kube-green.com/v1alpha1", "kind": "SleepInfo", "metadata": meta,
		"spec":   map[string]any{"excludeRef": []any{map[string]any{"kind": "Deployment", "name": "spared"}}},
		"status": map[string]any{"operation": pick("operation", "SLEEP", "WAKE_UP")}}
}

func TestAChangedTargetIsToldToBoth(t *testing.T) {
	c := claim.Builtin()
	var ix claim.Index
	a := given.Object(t, hpaOf("hpa", "web"))
	if got := ix.Put(a.ID(), c.Read(a)); len(got) != 1 || got[0].Name != "web" {
		t.Errorf("told %v", got)
	}
	if got := ix.Put(a.ID(), c.Read(a)); got != nil {
		t.Errorf("nothing has changed, told %v", got)
	}
	b := given.Object(t, hpaOf("hpa", "cart"))
	if got := ix.Put(b.ID(), c.Read(b)); len(got) != 2 {
		t.Errorf("told %v", got)
	}
	b.Metadata()["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	if got := ix.Put(b.ID(), c.Read(b)); len(got) != 1 || ix.Targets(got[0]) {
		t.Errorf("a claimant on its way out: told %v", got)
	}
}

func thousands(n int) (*claim.Index, *claim.Catalogue) {
	c := claim.Builtin()
	ix := &claim.Index{}
	for i := range n {
		o := object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"name": fmt.Sprint("web-", i), "namespace": fmt.Sprint("ns-", i%100)},
			"spec": map[string]any{"minReplicas": int64(2), "maxReplicas": int64(10),
				"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": fmt.Sprint("web-", i)}}}
		ix.Put(o.ID(), c.Read(o))
	}
	return ix, c
}

func BenchmarkWhoClaimsThis(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		ix, c := thousands(n)
		web := object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web-7", "namespace": "ns-7"}}
		free := object.ID{Group: "apps", Kind: "Deployment", Namespace: "ns-7", Name: "free"}
		b.Run(fmt.Sprintf("index/claimed/%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(ix.For(web.ID())) != 1 {
					b.Fatal("nobody")
				}
			}
		})
		b.Run(fmt.Sprintf("index/free/%d", n), func(b *testing.B) {
			for b.Loop() {
				if ix.Targets(free) {
					b.Fatal("somebody")
				}
			}
		})
		b.Run(fmt.Sprintf("catalogue/claimed/%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(c.On(claim.Subject{Desired: web, Live: web}, ix.For(web.ID()))) != 1 {
					b.Fatal("nobody")
				}
			}
		})
	}
}

func BenchmarkAClaimantChanges(b *testing.B) {
	ix, c := thousands(10_000)
	web := object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web-7", "namespace": "ns-7"},
		"spec": map[string]any{"maxReplicas": int64(10), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-7"}}}
	i := int64(0)
	for b.Loop() {
		i++
		web["spec"].(map[string]any)["minReplicas"] = i%5 + 1
		ix.Put(web.ID(), c.Read(web))
	}
}
