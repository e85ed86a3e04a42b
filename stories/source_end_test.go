package stories

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestASourceThatIsDeletedIsNotHeldByAControllerThatIsGone deletes sources that bear the finalizer which Flux's controllers put on each of them, and
// no such controller runs. One that another controller works on stays.
func TestASourceThatIsDeletedIsNotHeldByAControllerThatIsGone(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("deploy", "a"))
	for kind, rest := range map[string]string{
		"GitRepository":  "  interval: 1h\n  ref: {branch: main}\n  url: file://" + w.repo.Dir,
		"OCIRepository":  "  interval: 1h\n  suspend: true\n  url: oci://localhost:1/none",
		"Bucket":         "  interval: 1h\n  endpoint: localhost:1\n  bucketName: none",
		"HelmRepository": "  interval: 1h\n  url: http://localhost:1/none",
		"HelmChart":      "  interval: 1h\n  chart: none\n  sourceRef: {kind: HelmRepository, name: end}",
	} {
		w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: %s\nmetadata: {name: end, namespace: %s, finalizers: [finalizers.fluxcd.io]}\nspec:\n%s\n", kind, w.ns, rest))
	}
	w.Apply(t, fmt.Sprintf("apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: end, namespace: %s, finalizers: [source.extensions.fluxcd.io/finalizer]}\nspec:\n  sources: [{alias: app, kind: GitRepository, name: end}]\n  artifacts: [{name: end, copy: [{from: \"@app/**\", to: \"@artifact/\"}]}]\n", w.ns))
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: %s, finalizers: [finalizers.fluxcd.io], annotations: {truce.dev/mode: observe}}\nspec: {interval: 1h, url: \"file://%s\"}\n", w.ns, w.repo.Dir))
	all := []schema.GroupVersionResource{gitRepositories, ociRepositories, buckets, helmRepositories, helmCharts, artifactGenerators}
	t.Cleanup(func() {
		w.patch(gitRepositories, "other", map[string]any{"metadata": map[string]any{"finalizers": nil}}, "stories")
	})
	var gone []*kubetest.Recorder
	for _, of := range all {
		gone = append(gone, w.Watch(t, of, w.ns, "end"))
		w.kubectl("delete", of.Resource+"."+of.Group, "--all", "--wait=false")
	}
	for _, r := range gone {
		r.AwaitDeleted(w.ctx)
	}
	if o := w.get(gitRepositories, "other"); o == nil || len(o.GetFinalizers()) == 0 {
		t.Error("truce has let a source go that another controller works on")
	}
}

// TestTheHelmChartThatFluxMadeForAReleaseGoesWithIt deletes a HelmRelease for which helm-controller has written a HelmChart before.
func TestTheHelmChartThatFluxMadeForAReleaseGoesWithIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies)
	const made = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: %[1]s-%[2]s, namespace: %[1]s, finalizers: [finalizers.fluxcd.io], labels: {helm.toolkit.fluxcd.io/name: %[3]s, helm.toolkit.fluxcd.io/namespace: %[1]s}}\nspec: {chart: charts/web, interval: 1h, sourceRef: {kind: GitRepository, name: charts}}\n"
	w.Apply(t, fmt.Sprintf(made, w.ns, "web", "web"))
	w.Apply(t, fmt.Sprintf(made, w.ns, "other", "other"))
	w.release("web", "")
	w.helmReason("Ready", "True", "InstallSucceeded")
	gone := w.Watch(t, helmCharts, w.ns, w.ns+"-web")
	w.kubectl("delete", "helmrelease.helm.toolkit.fluxcd.io/web")
	gone.AwaitDeleted(w.ctx)
	if !w.isThere(helmCharts, w.ns+"-other") {
		t.Error("the HelmChart of another HelmRelease is gone")
	}
	w.kubectl("delete", "helmchart.source.toolkit.fluxcd.io", "--all")
}

// TestAReceiverThatIsDeletedIsNotHeldByAControllerThatIsGone deletes one that bears the finalizer of Flux's notification-controller.
func TestAReceiverThatIsDeletedIsNotHeldByAControllerThatIsGone(t *testing.T) {
	for name, takes := range map[string]bool{"with an address for webhooks": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			w := offWorld(t, configMaps("deploy", "a"))
			if takes {
				w.takesWebhooks(compose.RunOptions{})
			} else {
				w.run(compose.RunOptions{})
				go func() { _ = w.running.Hooks.Run(w.ctx) }() // until the end of the world
			}
			w.endsReceiver(t, takes)
		})
	}
}

// endsReceiver deletes a Receiver that has the finalizer of notification-controller, and waits until it is gone.
func (w *world) endsReceiver(t *testing.T, takes bool) {
	t.Helper()
	w.receives("push", "hook-token", "resources: [{kind: GitRepository, name: repo}]")
	if takes {
		w.hookPath("push")
	}
	w.patch(receivers, "push", map[string]any{"metadata": map[string]any{"finalizers": []any{"finalizers.fluxcd.io"}}}, "gotk-notification-controller")
	gone := w.Watch(t, receivers, w.ns, "push")
	w.kubectl("delete", "receiver", "push", "--wait=false")
	gone.AwaitDeleted(w.ctx)
}
