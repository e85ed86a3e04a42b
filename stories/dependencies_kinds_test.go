package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestADependencyMayBeOfAnotherKind: a Kustomization waits for a HelmRelease that waits for another Kustomization, by the annotation. All have an
// interval of an hour, so that events end the waiting.
func TestADependencyMayBeOfAnotherKind(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfConfig+configMaps("first", "a")+configMaps("last", "z"))
	w.fileSource("repo", w.repo)
	w.Apply(t, fmt.Sprintf(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: %s, annotations: {truce.dev/depends-on: "[{kind: Kustomization, name: first}]"}}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: repo}}}
`, w.ns))
	w.Apply(t, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: last, namespace: %s, annotations: {truce.dev/depends-on: "[{kind: HelmRelease, name: web}]"}}
spec: {interval: 1h, path: ./last, prune: true, sourceRef: {kind: GitRepository, name: repo}}
`, w.ns))
	t.Cleanup(w.removeApps)
	w.releaseSays("web", "False", "dependency 'Kustomization/"+w.ns+"/first' not found")
	w.fails("last", "dependency 'HelmRelease/"+w.ns+"/web' is not ready")
	if w.isThere(configmaps, "web") || w.isThere(configmaps, "z") {
		t.Error("an app was applied before what it depends on")
	}
	w.dependent("first", "repo", "")
	w.released("web", 1, "1.0.0")
	w.ready("last")
	if !w.isThere(configmaps, "z") {
		t.Error("the last app is ready, and its object is not there")
	}

	// A cycle of both kinds is named by its members.
	w.kubectl("annotate", "kustomization", "first", `truce.dev/depends-on=[{"kind": "Kustomization", "name": "last"}]`)
	w.repo.Commit(map[string]string{"first/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: " + w.ns + "}, data: {k: newer}}\n"}, "newer")
	w.fails("first", "dependency cycle: Kustomization/"+w.ns+"/first → Kustomization/"+w.ns+"/last → HelmRelease/"+w.ns+"/web → Kustomization/"+w.ns+"/first")
}
