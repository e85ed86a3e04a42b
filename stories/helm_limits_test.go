package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartWithBadHooks has a hook at each event that the values name, which the API server refuses.
const chartWithBadHooks = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
bad: []
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}}
-- charts/web/templates/hooks.yaml --
{{- range .Values.bad }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ $.Release.Name }}-{{ . }}", annotations: {helm.sh/hook: "{{ . }}"}}
immutable: never
{{- end }}
`

// storedRelease records the Secret of a stored release.
func (w *world) storedRelease(name string) *kubetest.Recorder {
	w.t.Helper()
	return w.Watch(w.t, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, w.ns, "sh.helm.release.v1."+name)
}

// TestNoMoreReleasesAreStoredThanAskedFor: of those that fail too, and the one that is deployed stays.
func TestNoMoreReleasesAreStoredThanAskedFor(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	w.release("web", "  maxHistory: 2\n  upgrade: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n")
	w.released("web", 1, "1.0.0")
	w.wants("web", map[string]any{"bad": []any{"post-upgrade"}})
	w.await(w.storedRelease("web.v5"), func(o *unstructured.Unstructured) bool { return o.GetLabels()["status"] == "failed" })
	if got := w.storedReleases("web"); !strings.HasPrefix(got, "1:deployed ") || strings.Count(got, ":") != 2 {
		t.Errorf("stored: %s", got)
	}
}

// TestAnUninstalledReleaseLeavesNoneDeployed: with its history kept, also where the newest release had failed.
func TestAnUninstalledReleaseLeavesNoneDeployed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	w.release("web", "  uninstall: {keepHistory: true}\n")
	w.released("web", 1, "1.0.0")
	w.wants("web", map[string]any{"bad": []any{"post-upgrade"}})
	w.stalled("web")
	w.delete(helmReleases, w.ns, "web")
	w.until("the HelmRelease is gone", func() bool { return w.get(helmReleases, "web") == nil })
	if got := w.storedReleases("web"); got != "1:superseded 2:uninstalled" {
		t.Errorf("stored: %s", got)
	}
}
