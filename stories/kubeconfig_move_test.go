package stories

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// mover is an app that changes its cluster while Git loses one of its objects.
const mover = `
-- mover/m1.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: m1, namespace: NAMESPACE}, data: {k: m1}}
-- mover/m2.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: m2, namespace: NAMESPACE}, data: {k: m2}}
`

// keepsIn fails the story unless the two clusters have these of the mover's objects, and truce has deleted none of any name in either.
func (f farWorld) keepsIn(here, there []string) {
	f.t.Helper()
	names := func(c *kubetest.Cluster) []string {
		all := strings.Fields(c.Kubectl(f.t, "get", "configmaps", "-n", f.ns, "-o", "jsonpath={.items[*].metadata.name}"))
		return slices.DeleteFunc(all, func(name string) bool { return name != "m1" && name != "m2" && name != "moving" })
	}
	if got := names(f.Cluster); !slices.Equal(got, here) {
		f.t.Errorf("this cluster has %v of the app, want %v", got, here)
	}
	if got := names(f.there); !slices.Equal(got, there) {
		f.t.Errorf("the other cluster has %v of the app, want %v", got, there)
	}
	for _, c := range []*kubetest.Cluster{f.Cluster, f.there} {
		for _, e := range c.Audit(f.t, func(e kubetest.Entry) bool {
			return f.byTruce(e) && e.Namespace == f.ns && strings.HasPrefix(e.Verb, "delete") && (strings.HasPrefix(e.Name, "m") && e.Name != "more" || strings.Contains(e.Name, "moving."))
		}) {
			f.t.Errorf("truce has deleted %s %s", e.Resource.Resource, e.Name)
		}
	}
}

// changesCluster is the scene of an app whose spec.kubeConfig names another cluster than before, or none, while Git loses one of its objects.
func changesCluster(f farWorld) {
	f.Apply(f.t, f.manifest("mover", "./mover", inTheOtherCluster)) // not f.app: the apps of the other scenes stay
	f.ready("mover")
	held := []string{"its 2 objects are in the cluster", "not in the cluster own that is reached now: nothing is applied or deleted"}
	f.respec("mover", `{"kubeConfig":null}`)
	f.fails("mover", held...)
	f.repo.Remove("mover/m2.yaml")
	f.ready("here") // with that commit
	f.fails("mover", held...)
	f.keepsIn(nil, []string{"m1", "m2"})

	f.annotate(kustomizations, "mover", "truce.dev/target-cluster", "own")
	f.ready("mover")
	f.keepsIn([]string{"m1"}, []string{"m1", "m2"})

	f.Apply(f.t, strings.Replace(f.kubeconfigSecret(f.there.KubeconfigText(f.t)), "name: far,", "name: far-too,", 1))
	f.respec("mover", `{"kubeConfig":{"secretRef":{"name":"far-too"}}}`)
	f.fails("mover", "its 1 objects are in the cluster own", "nothing is applied or deleted")
	f.keepsIn([]string{"m1"}, []string{"m1", "m2"})

	f.respec("mover", `{"kubeConfig":null}`)
	f.ready("mover")
	f.releaseChangesCluster()
	m1 := f.Watch(f.t, configmaps, f.ns, "m1")
	f.kubectl("delete", "kustomization/mover")
	m1.AwaitDeleted(f.ctx)
	f.there.Kubectl(f.t, "get", "configmap/m1", "configmap/m2", "-n", f.ns) // they were left there
}

// releaseChangesCluster does the same with a HelmRelease, whose stored releases are in the other cluster, too.
func (f farWorld) releaseChangesCluster() {
	f.t.Helper()
	there := "  kubeConfig: {secretRef: {name: far}}\n  values: {k: git}\n"
	f.Apply(f.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: asked, namespace: %s}, data: {k: from here}}", f.ns)) // the chart renders in both
	f.Apply(f.t, f.releaseText("moving", there))
	ready := func(c map[string]any) bool { return c["status"] == "True" }
	f.helmCondition("moving", "Ready", ready)
	f.kubectl("patch", "helmrelease/moving", "--type=merge", `-p={"spec":{"kubeConfig":null}}`)
	f.helmCondition("moving", "Ready", func(c map[string]any) bool {
		return c["status"] == "False" && contains(c["message"], "not in the cluster own that is reached now: nothing is applied or deleted")
	})
	f.keepsIn([]string{"m1"}, []string{"m1", "m2", "moving"})
	f.delete(helmReleases, f.ns, "moving")
	f.kubectl("patch", "helmrelease/moving", "--type=merge", `-p={"spec":{"suspend":true}}`) // as the message says
	f.goes(helmReleases, "moving")
	f.keepsIn([]string{"m1"}, []string{"m1", "m2", "moving"})
}
