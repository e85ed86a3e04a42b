package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const scalers = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: there, namespace: NAMESPACE}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 4}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: nowhere, namespace: NAMESPACE}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}, maxReplicas: 4}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: of-no-kind, namespace: NAMESPACE}
spec: {scaleTargetRef: {apiVersion: example.org/v1, kind: Thing, name: web}, maxReplicas: 4}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: x}]}}
`

func TestClaimantsOfAClusterAreListedWithWhatTheyLack(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	k.Apply(t, strings.ReplaceAll(scalers, "NAMESPACE", ns))
	cl, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{cluster: cl, engine: reconcile.Dependencies{Live: list.Reader{Cluster: cl}}}
	found, err := c.Claimants(t.Context(), claim.Builtin(), ns)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, x := range found {
		got[x.ID.Name] = strings.HasPrefix(x.Idle, "there is no such ")
	}
	if d := cmp.Diff(map[string]bool{"there": false, "nowhere": true, "of-no-kind": true}, got); d != "" {
		t.Error(d)
	}
}
