package view

import (
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const twoApps = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: NAMESPACE}
spec: {interval: 10m, path: ./app, prune: true, sourceRef: {kind: GitRepository, name: repo}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: other, namespace: NAMESPACE}
spec: {interval: 10m, path: ./other, prune: true, sourceRef: {kind: GitRepository, name: repo}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: NAMESPACE, labels: {truce.dev/part-of: NAMESPACE.web}}
`

const statusOfOne = `{"status": {
  "observedGeneration": 1, "inventory": {"entries": [{"id": "NAMESPACE_NAME__ConfigMap", "v": "v1"}]},
  "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
}}`

// asked notes which Kustomizations and which of their ConfigMaps are listed and watched.
type asked struct {
	mu  sync.Mutex
	all map[string]bool
}

func (a *asked) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		kind, q := path.Base(r.URL.Path), r.URL.Query()
		if kind == "kustomizations" || kind == "configmaps" && strings.HasPrefix(q.Get("labelSelector"), desired.PartOf) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.all[kind+" "+q.Get("fieldSelector")+q.Get("labelSelector")] = true
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOneAppIsFollowedWithoutTheOthers: a command about each of many apps asks for each once, and not for all of them each time.
func TestOneAppIsFollowedWithoutTheOthers(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	crd, err := deploy.CRDs.ReadFile("crds/kustomizations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.Apply(t, string(crd))
	k.Established(t, "kustomizations.kustomize.toolkit.fluxcd.io")
	k.Apply(t, strings.ReplaceAll(twoApps, "NAMESPACE", ns))
	config, seen := k.Config(), &asked{all: map[string]bool{}}
	config.Wrap(seen.wrap)
	cl, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCluster(cl, Sources{Engine: reconcile.Dependencies{Live: list.Reader{Cluster: cl}}}, nil)
	key := app.Key{Kind: registry.Kustomizations.Kind, Namespace: ns, Name: "web"}
	for _, name := range []string{"web", "other"} {
		r, err := c.resource(key)
		if err != nil {
			t.Fatal(err)
		}
		status := strings.NewReplacer("NAMESPACE", ns, "NAME", name).Replace(statusOfOne)
		if _, err := r.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	var got []Summary
	if err := c.Follow(t.Context(), key, func(all []Summary) bool { got = all; return true }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Key != key || got[0].State.Health.Code != health.Healthy {
		t.Errorf("followed: %+v", got)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	want := map[string]bool{"kustomizations metadata.name=web": true, "configmaps " + desired.PartOf + "=" + desired.PartOfValue(key): true}
	if d := cmp.Diff(want, seen.all); d != "" {
		t.Error(d)
	}
}
