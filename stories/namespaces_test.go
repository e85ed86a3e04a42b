package stories

import (
	"os"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// beside is another namespace of the same story, with a repository and an instance of its own.
func (w *world) beside(process policy.Policy, files string) *world {
	w.t.Helper()
	o := &world{Cluster: w.Cluster, t: w.t, ctx: w.ctx, ns: w.Namespace(w.t), cache: w.t.TempDir()}
	o.works, o.agent = cluster.Namespaces{o.ns}, "truce/"+o.ns
	o.repo = gittest.NewTxtar(w.t, strings.NewReplacer("NAMESPACE", o.ns, "BESIDE", w.ns).Replace(files))
	o.start(process)
	return o
}

// intruder names an object of the first truce's app, and brings that namespace an autoscaler.
const intruder = `
-- app/shared.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: BESIDE}, data: {k: theirs}}
-- app/own.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: NAMESPACE}, data: {k: own}}
-- app/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa, namespace: BESIDE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: my-app}
  minReplicas: 5
  maxReplicas: 6
`

func TestTwoInstancesWorkSideBySide(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+configMaps("apps/my-app", "shared"))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	shared := w.Watch(t, configmaps, w.ns, "shared")
	d := w.Watch(t, deployments, w.ns, "my-app")
	o := w.beside(policy.Policy{}, intruder)
	o.app("intruder", "./app", "interval: 1h\nretryInterval: 1s")

	// Objects with the other instance's label are left alone and reported; all others are applied.
	o.fails("intruder", "shared: it belongs to Kustomization "+w.ns+"/my-app, for which another truce instance works")
	if !o.isThere(configmaps, "own") {
		t.Error("the second instance does not create its own object")
	}
	// What an app of the second depends on is in a namespace that this instance does not read.
	o.kustomization("later", "repo", "path: ./none\ninterval: 1h\nprune: true\ndependsOn: [{name: my-app, namespace: "+w.ns+"}]")
	o.fails("later", "dependency '"+w.ns+"/my-app' cannot be seen: this truce does not work for namespace "+w.ns+" (--namespace "+o.ns+")")

	// An autoscaler is a claimant for both instances.
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
	w.readyTells("my-app", "ceded: Deployment "+w.ns+"/my-app .spec.replicas to HPA "+w.ns+"/hpa", true)
	for _, side := range []*world{w, o} {
		side.check(map[*world]string{w: "my-app", o: "intruder"}[side])
	}
	if n := replicas(d.Newest()); n != 5 {
		t.Errorf("replicas are %d", n)
	}
	for _, v := range shared.Values() {
		if value(v.Object, "k") != "shared" || v.Object.GetUID() != shared.Values()[0].Object.GetUID() {
			t.Errorf("the other's object was written: %v", v.Object.Object)
		}
	}
	w.noneOf(o)
	o.noneOf(w, "horizontalpodautoscalers hpa")

	// When the first lets go, the object is free.
	w.repo.Remove("apps/my-app/shared.yaml")
	shared.AwaitDeleted(w.ctx)
	w.await(w.Watch(t, configmaps, w.ns, "shared"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "theirs" })
	o.ready("intruder")
	w.ready("my-app")
}

// noneOf checks that the world's instance has written nothing in another one's namespace but the objects named.
func (w *world) noneOf(other *world, but ...string) {
	w.t.Helper()
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.Namespace == other.ns && e.Writes() }) {
		if what := e.Resource.Resource + " " + e.Name; len(but) == 0 || what != but[0] {
			w.t.Errorf("%s %s in the other's namespace", e.Verb, what)
		}
	}
}

func TestRightsInOneNamespaceAreEnoughForATruceOfOne(t *testing.T) {
	w := offWorld(t, document3)
	text, err := os.ReadFile("../deploy/rbac/one-namespace/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mayIn := func(ns string) {
		w.Apply(t, strings.NewReplacer("team-a", ns, "truce-system", w.ns).Replace(string(text)))
	}
	mayIn(w.ns)
	w.account = "system:serviceaccount:" + w.ns + ":truce"
	w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.scaledBack(d, 4, 3)
	w.Apply(t, strings.NewReplacer("BESIDE", w.ns).Replace(gittest.Files(intruder)["app/hpa.yaml"]))
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
	w.readyTells("my-app", "to HPA "+w.ns+"/hpa", true)
	if n := len(w.Audit(t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.User != w.account })); n > 0 {
		t.Errorf("%d requests with other rights: the story is about nothing", n)
	}
	// What lies elsewhere is said until there are rights for it, too.
	elsewhere := w.Namespace(t)
	w.repo.Commit(map[string]string{"apps/my-app/more.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: " + elsewhere + "}}\n"}, "elsewhere")
	w.fails("my-app", "ConfigMap "+elsewhere+"/a", "forbidden")
	mayIn(elsewhere)
	w.ready("my-app") // without being asked: the watch that was refused has been let in
	w.kustomization("far", "repo, namespace: default", "path: ./apps/my-app\nprune: true\ninterval: 1h")
	w.fails("far", "GitRepository default/repo is in a namespace that this truce does not work for (--namespace)")
}
