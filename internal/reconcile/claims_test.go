package reconcile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

func hpa(name, target string, least int64, version int) object.Object {
	return object.Object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": name, "namespace": "shop", "resourceVersion": fmt.Sprint(version)},
		"spec": map[string]any{"minReplicas": least, "maxReplicas": int64(9),
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": target}},
	}
}

func deployment(name string) object.ID {
	return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}
}

// on returns who claims a Deployment, and from which count up.
func on(c *Claims, name string) []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []string
	for _, x := range c.index.For(deployment(name)) {
		out = append(out, fmt.Sprint(x.ID.Name, " ", x.Min))
	}
	slices.Sort(out)
	return out
}

// TestAClaimHoldsWhileGitOrTheClusterHasItsClaimant draws histories of both.
func TestAClaimHoldsWhileGitOrTheClusterHasItsClaimant(t *testing.T) {
	catalogue := claim.Builtin()
	rapid.Check(t, func(t *rapid.T) {
		c := NewClaims(catalogue)
		live, git := map[string]object.Object{}, map[string]map[string]object.Object{}
		for version := range rapid.IntRange(1, 30).Draw(t, "steps") {
			draw := func() object.Object {
				return hpa(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.SampledFrom([]string{"web", "cart"}).Draw(t, "target"),
					rapid.Int64Range(1, 2).Draw(t, "least"), version+1)
			}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				o := draw()
				live[o.Name()] = o
				c.OnEvent(o)
			case 1:
				o := draw()
				delete(live, o.Name())
				c.OnDelete(o.ID())
			default:
				key, declared := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "app"), map[string]object.Object{}
				set := map[object.ID]object.Object{}
				for range rapid.IntRange(0, 2).Draw(t, "objects") {
					o := draw()
					declared[o.Name()], set[o.ID()] = o, o
				}
				git[key] = declared
				c.declare(app.Key{Name: key}, set)
			}
			for _, name := range []string{"web", "cart"} {
				if d := cmp.Diff(wanted(live, git, name), names(on(c, name))); d != "" {
					t.Fatalf("%s: %s", name, d)
				}
			}
		}
	})
}

// wanted lists the autoscalers that target a Deployment anywhere.
func wanted(live map[string]object.Object, git map[string]map[string]object.Object, target string) []string {
	var out []string
	for _, set := range []map[string]object.Object{live, git["one"], git["two"]} {
		for name, o := range set {
			if o.At("spec", "scaleTargetRef", "name") == target && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func names(all []string) []string {
	var out []string
	for _, s := range all {
		if name := s[:1]; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestTheClustersFormOfAClaimantCountsBeforeGits(t *testing.T) {
	c := NewClaims(claim.Builtin())
	c.declare(app.Key{Name: "one"}, map[object.ID]object.Object{hpa("a", "web", 2, 0).ID(): hpa("a", "web", 2, 0)})
	c.OnEvent(hpa("a", "web", 4, 7))
	if d := cmp.Diff([]string{"a 4"}, on(c, "web")); d != "" {
		t.Error(d)
	}
	c.OnDelete(hpa("a", "web", 4, 7).ID())
	if d := cmp.Diff([]string{"a 2"}, on(c, "web")); d != "" {
		t.Error(d)
	}
}

func rollout(routes ...string) object.Object {
	var managed []any
	for _, name := range routes {
		managed = append(managed, map[string]any{"name": name})
	}
	named := func(route string) any { return map[string]any{"name": "web", "routes": []any{route}} }
	return object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"strategy": map[string]any{"canary": map[string]any{"trafficRouting": map[string]any{
			"managedRoutes": managed, "istio": map[string]any{"virtualServices": []any{named("one"), named("two")}},
		}}}},
	}
}

// TestTheItemsThatGitsClaimantNamesAreSparedToo: a Rollout that Git alone has names two routes of one VirtualService, and a commit adds a managed route.
func TestTheItemsThatGitsClaimantNamesAreSparedToo(t *testing.T) {
	weighed := func(name string) any {
		return map[string]any{"name": name, "route": []any{map[string]any{"destination": map[string]any{"host": "web"}, "weight": int64(1)}}}
	}
	service := func(routes ...any) object.Object {
		return object.Object{
			"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"spec": map[string]any{"http": routes},
		}
	}
	s := claim.Subject{Desired: service(weighed("one"), weighed("two")), Live: service(weighed("header"), weighed("mirror"), weighed("one"), weighed("two"))}
	c := NewClaims(claim.Builtin())
	claimed := func() []string {
		var out []string
		for _, x := range c.catalogue.On(s, c.index.For(s.Desired.ID())) {
			out = append(out, field.PathString(x.Path))
		}
		slices.Sort(out)
		return out
	}
	c.declare(app.Key{Name: "one"}, map[object.ID]object.Object{rollout().ID(): rollout("header", "mirror")})
	want := []string{".spec.http[0].route[0].weight", ".spec.http[1].route[0].weight", ".spec.http[name=header]", ".spec.http[name=mirror]"}
	if d := cmp.Diff(want, claimed()); d != "" {
		t.Errorf("Git alone has it: %s", d)
	}
	c.OnEvent(rollout("header"))
	if d := cmp.Diff(want, claimed()); d != "" {
		t.Errorf("the cluster has it with fewer routes: %s", d)
	}
	c.declare(app.Key{Name: "one"}, nil)
	if d := cmp.Diff(want[:3], claimed()); d != "" {
		t.Errorf("the cluster alone has it: %s", d)
	}
}

func TestAListBringsNothingBack(t *testing.T) {
	c := NewClaims(claim.Builtin())
	kinds := c.catalogue.Kinds()
	list := func(all ...object.Object) { c.onList(kinds, "shop", all) }
	c.OnEvent(hpa("a", "web", 2, 5))
	list(hpa("a", "cart", 2, 4))
	if d := cmp.Diff([]string{"a 2"}, on(c, "web")); d != "" {
		t.Errorf("an older list counts: %s", d)
	}
	list(hpa("a", "cart", 2, 6), hpa("b", "cart", 3, 6))
	if d := cmp.Diff([]string{"a 2", "b 3"}, on(c, "cart")); d != "" {
		t.Errorf("a newer list does not count: %s", d)
	}
	list(hpa("a", "cart", 2, 6))
	if d := cmp.Diff([]string{"a 2"}, on(c, "cart")); d != "" {
		t.Errorf("what no list has any more stays: %s", d)
	}
	c.OnEvent(hpa("a", "cart", 2, 6))
	list()
	if d := cmp.Diff([]string{"a 2"}, on(c, "cart")); d != "" {
		t.Errorf("a list ends what the watch has told: %s", d)
	}
}

func TestOnlyTargetsOfWhatHasChangedAreWoken(t *testing.T) {
	c := NewClaims(claim.Builtin())
	var woken targetNames
	c.engine = &woken
	c.OnEvent(hpa("a", "web", 2, 1))
	c.OnEvent(hpa("a", "web", 2, 2)) // its status has changed
	c.OnEvent(hpa("a", "cart", 2, 3))
	c.OnDelete(hpa("a", "cart", 2, 3).ID())
	if d := cmp.Diff([]string{"web", "web", "cart", "cart"}, []string(woken)); d != "" {
		t.Error(d)
	}
}

// targetNames records the targets by name.
type targetNames []string

func (n *targetNames) enqueueTargets(id object.ID) { *n = append(*n, id.Name) }
