package stories

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// dependent creates a Kustomization on a source, that depends on others of the namespace. Its path is its name.
func (w *world) dependent(name, source, more string, on ...string) {
	w.t.Helper()
	list := ""
	for _, d := range on {
		list += "\n- name: " + d
	}
	if list != "" {
		list = "dependsOn:" + list
	}
	w.kustomization(name, source, "path: ./"+name+"\nprune: true\ninterval: 1h\n"+more+"\n"+list)
}

// fileSource creates a GitRepository on a repository of this machine. It is looked at by itself when it changes.
func (w *world) fileSource(name string, repo *gittest.Repo) {
	w.t.Helper()
	w.source(name, "url: file://"+repo.Dir+"\ninterval: 1h\nref: {branch: main}")
}

// isReadyNow reports whether the condition Ready is True.
func isReadyNow(o *unstructured.Unstructured) bool {
	for _, c := range entries(o, "status", "conditions") {
		if c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

// writtenAt is the resourceVersion of the first value that is so. One etcd counts them for all objects.
func writtenAt(t *testing.T, r *kubetest.Recorder, is func(*unstructured.Unstructured) bool) int64 {
	t.Helper()
	for _, v := range r.Values() {
		if is(v.Object) {
			n, err := strconv.ParseInt(v.Object.GetResourceVersion(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("it never was so")
	return 0
}

// TestAChainOfTenAppsOverThreeRepositories: each app is applied after the one that it depends on is ready, whatever the order in which they
// were made, and nothing is asked for again and again meanwhile.
func TestAChainOfTenAppsOverThreeRepositories(t *testing.T) {
	const links, repositories = 10, 3
	w := newWorld(t, policy.Policy{}, "-- none --\n")
	for n := range repositories {
		var files strings.Builder
		for i := n; i < links; i += repositories {
			files.WriteString(configMaps(fmt.Sprintf("app-%d", i), fmt.Sprintf("c-%d", i)))
		}
		w.fileSource(fmt.Sprintf("repo-%d", n), gittest.NewTxtar(t, strings.ReplaceAll(files.String(), "NAMESPACE", w.ns)))
	}
	var apps, objects [links]*kubetest.Recorder
	begin := time.Now()
	for i := links - 1; i >= 0; i-- {
		name, object := fmt.Sprintf("app-%d", i), fmt.Sprintf("c-%d", i)
		apps[i], objects[i] = w.Watch(t, kustomizations, w.ns, name), w.Watch(t, configmaps, w.ns, object)
		var on []string
		if i > 0 {
			on = []string{fmt.Sprintf("app-%d", i-1)}
		}
		w.dependent(name, fmt.Sprintf("repo-%d", i%repositories), "wait: true", on...)
	}
	w.await(apps[links-1], isReadyNow)
	t.Logf("a chain of %d is ready after %s", links, time.Since(begin).Round(time.Millisecond))
	for i := 1; i < links; i++ {
		if before, made := writtenAt(t, apps[i-1], isReadyNow), writtenAt(t, objects[i], func(*unstructured.Unstructured) bool { return true }); made < before {
			t.Errorf("the object of app-%d was made at %d, and app-%d was ready at %d", i, made, i-1, before)
		}
	}
	asked := w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && e.Resource.Resource == "kustomizations" && e.Verb == "get"
	})
	written := w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && e.Resource.Resource == "kustomizations" && e.Subresource == "status"
	})
	if len(asked) > 0 || len(written) > 4*links {
		t.Errorf("%d reads and %d status writes for %d apps", len(asked), len(written), links)
	}
}

const twoOfOneSource = `
-- api/api.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: api, namespace: NAMESPACE}, data: {k: "1"}}
-- web/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: NAMESPACE}, data: {k: "1"}}
`

// TestACommitWaitsUntilADependencyHasAppliedIt: as in Flux, where both read one source. What was applied before is kept as it is meanwhile.
func TestACommitWaitsUntilADependencyHasAppliedIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, twoOfOneSource)
	w.fileSource("repo", w.repo)
	w.dependent("api", "repo", "")
	w.dependent("web", "repo", "", "api")
	w.ready("web")
	api, web := w.Watch(t, configmaps, w.ns, "api"), w.Watch(t, configmaps, w.ns, "web")
	w.repo.Commit(map[string]string{
		"api/api.yaml": "kind: [", "web/web.yaml": strings.ReplaceAll(`{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: NAMESPACE}, data: {k: "2"}}`, "NAMESPACE", w.ns),
	}, "break the dependency")
	w.fails("api", "api/api.yaml")
	t.Log(w.fails("web", "dependency '"+w.ns+"/api' is not ready"))
	for _, command := range []string{"app get web", "app list"} {
		w.saysOf(w.truce(), 0, command, "dependency '"+w.ns+"/api' is not ready")
	}
	w.putBack(web, "web", "3", "1")
	w.repo.Commit(w.inNamespace(map[string]string{
		"api/api.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: api, namespace: NAMESPACE}, data: {k: "2"}}`,
	}), "repair it")
	w.ready("web")
	is2 := func(o *unstructured.Unstructured) bool { return value(o, "k") == "2" }
	if before, after := writtenAt(t, api, is2), writtenAt(t, web, is2); after < before {
		t.Errorf("the dependent was applied at %d, its dependency at %d", after, before)
	}
}

// TestACycleOfDependenciesIsNamedOnEachMember: and ends when one of them lets go. What only depends on a cycle is no member.
func TestACycleOfDependenciesIsNamedOnEachMember(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("a", "a")+configMaps("b", "b")+configMaps("c", "c")+configMaps("after", "after"))
	w.fileSource("repo", w.repo)
	w.dependent("a", "repo", "")
	w.dependent("b", "repo", "", "a")
	w.dependent("c", "repo", "", "b")
	w.dependent("after", "repo", "", "c")
	w.ready("after")
	w.respec("a", `{"dependsOn": [{"name": "c"}]}`)
	name := func(s string) string { return w.ns + "/" + s }
	for member, cycle := range map[string][]string{"a": {"a", "c", "b", "a"}, "b": {"b", "a", "c", "b"}, "c": {"c", "b", "a", "c"}} {
		for i := range cycle {
			cycle[i] = name(cycle[i])
		}
		t.Log(w.fails(member, "dependency cycle: "+strings.Join(cycle, " → ")))
	}
	w.edit("after/after.yaml", `"k":"after"`, `"k":"later"`)
	w.fails("after", "dependency '"+name("c")+"' is not ready")
	w.respec("a", `{"dependsOn": null}`)
	for _, each := range []string{"a", "b", "c", "after"} {
		w.ready(each)
	}
}

// TestADependencyThatIsMissingIsWaitedFor: by its name. One of another namespace is refused where references across namespaces are.
func TestADependencyThatIsMissingIsWaitedFor(t *testing.T) {
	w := offWorld(t, configMaps("web", "web")+configMaps("infra", "infra")+configMaps("foreign", "foreign"))
	w.run(compose.RunOptions{Settings: controller.Settings{Tenancy: tenancy.Rules{References: tenancy.SameNamespace}}})
	w.fileSource("repo", w.repo)
	w.dependent("web", "repo", "", "infra")
	w.kustomization("foreign", "repo", "path: ./foreign\nprune: true\ninterval: 1h\ndependsOn: [{name: infra, namespace: kube-system}]")
	t.Log(w.fails("web", "dependency '"+w.ns+"/infra' not found"))
	w.condition("foreign", "Stalled", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && c["reason"] == "AccessDenied" &&
			contains(c["message"], "can't access 'Kustomization/kube-system/infra', cross-namespace references have been blocked")
	})
	if w.isThere(configmaps, "web") || w.isThere(configmaps, "foreign") {
		t.Error("an app was applied before what it depends on")
	}
	w.dependent("infra", "repo", "")
	w.ready("web")
}

// TestADependencyIsReadyByAnExpression: the expression replaces the rule, and is asked again when a label changes on either side.
func TestADependencyIsReadyByAnExpression(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("web", "web")+"-- api/broken.yaml --\nkind: [\n")
	w.fileSource("repo", w.repo)
	w.dependent("api", "repo", "")
	w.kustomization("web", "repo", `
path: ./web
prune: true
interval: 1h
dependsOn:
- name: api
  readyExpr: dep.metadata.labels['v'] == self.metadata.labels['v']`)
	w.kustomization("bad", "repo", "path: ./web\nprune: true\ninterval: 1h\ndependsOn: [{name: api, readyExpr: 'dep.status.'}]")
	w.condition("bad", "Stalled", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && c["reason"] == "InvalidCELExpression" && contains(c["message"], "spec.dependsOn[0].readyExpr: line 1:12: Syntax error")
	})
	w.fails("api", "broken.yaml")
	t.Log(w.fails("web", "dependency '"+w.ns+"/api': readyExpr cannot be evaluated: no such key: labels"))
	label := func(name, v string) {
		w.patch(kustomizations, name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"v": v}}}, "kubectl-label")
	}
	label("api", "2")
	label("web", "1")
	w.fails("web", "dependency '"+w.ns+"/api' is not ready according to readyExpr eval")
	label("web", "2")
	w.ready("web")
}

// TestAnObjectThatMovesToADependentAppIsNotDeleted: the app that it leaves must be ready before the other one may take it.
func TestAnObjectThatMovesToADependentAppIsNotDeleted(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("infra", "stay", "moves")+configMaps("web", "web"))
	w.fileSource("repo", w.repo)
	w.dependent("infra", "repo", "")
	w.dependent("web", "repo", "", "infra")
	w.ready("web")
	moves := w.Watch(t, configmaps, w.ns, "moves")
	before := moves.Values()[0].Object.GetUID()
	w.repo.Move("infra/moves.yaml", "web/moves.yaml")
	w.await(moves, func(o *unstructured.Unstructured) bool { return o.GetLabels()["truce.dev/part-of"] == w.ns+".web" })
	w.ready("infra")
	w.ready("web")
	if now := w.get(configmaps, "moves"); now.GetUID() != before || len(w.deletes()) > 0 {
		t.Errorf("the object was made again, or deleted: %v", w.deletes())
	}
	w.repo.Move("web/moves.yaml", "moves.yaml") // and what leaves both is pruned
	w.goes(configmaps, "moves")
	w.ready("web")
}

// TestAnAppWhoseDependencyIsNeverReadyKeepsNothing: neither of its source nor of another one is a prune kept, and what moves to the app is left for it.
func TestAnAppWhoseDependencyIsNeverReadyKeepsNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("web", "stay", "goes", "moves", "strays")+configMaps("late", "late")+configMaps("absent", "absent"))
	w.fileSource("repo", w.repo)
	other := gittest.NewTxtar(t, strings.ReplaceAll(configMaps("shop", "shop", "old"), "NAMESPACE", w.ns))
	w.fileSource("other", other)
	w.dependent("late", "repo", "", "absent")
	w.dependent("web", "repo", "")
	w.dependent("shop", "other", "")
	w.ready("web")
	w.await(w.Watch(t, kustomizations, w.ns, "shop"), isReadyNow)
	w.fails("late", "dependency '"+w.ns+"/absent' not found")
	before := w.get(configmaps, "moves").GetUID()
	w.repo.Remove("web/goes.yaml")
	w.repo.Move("web/moves.yaml", "late/moves.yaml")
	w.goes(configmaps, "goes")
	w.ready("web")
	other.Remove("shop/old.yaml")
	w.goes(configmaps, "old")
	if now := w.get(configmaps, "moves"); now.GetUID() != before {
		t.Error("what moves was deleted")
	}
	w.repo.Move("web/strays.yaml", "late/strays.yaml")
	w.ready("web")
	if !w.isThere(configmaps, "strays") {
		t.Error("what moves as well was deleted")
	}
	w.repo.Remove("late/strays.yaml") // which has never come to apply it
	w.goes(configmaps, "strays")
	w.dependent("absent", "repo", "")
	w.ready("late")
	if now := w.get(configmaps, "moves"); now.GetUID() != before || now.GetLabels()["truce.dev/part-of"] != w.ns+".late" {
		t.Errorf("what moves is of %s, and its uid %s, was %s", now.GetLabels()["truce.dev/part-of"], now.GetUID(), before)
	}
}
