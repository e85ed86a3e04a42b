package claim_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func custom(apiVersion, kind string) object.Object {
	return object.Object{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "web", "namespace": "shop"}}
}

func TestAdditionsThatAreNoDrift(t *testing.T) {
	c := claim.Builtin()
	deployment := given.Object(t, deploymentOf("web"))
	service := object.Object{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "shop"}}
	rollout, cluster := custom("argoproj.io/v1alpha1", "Rollout"), custom("postgresql.cnpg.io/v1", "Cluster")
	by := func(manager string) ownership.Entry { return ownership.Entry{Manager: manager, Operation: "Update"} }
	for _, x := range []struct {
		of   object.Object
		path field.Path
		by   string
		want string
	}{
		{deployment, field.NewPath("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"), "kubectl-rollout", "rollout-restart"},
		{rollout, field.NewPath("spec", "restartAt"), "kubectl-argo-rollouts", "rollout-restart-at"},
		{rollout, field.NewPath("spec", "paused"), "kubectl-argo-rollouts", ""},
		{cluster, field.NewPath("metadata", "annotations", "kubectl.kubernetes.io/restartedAt"), "kubectl-cnpg", "cnpg-restart"},
		{cluster, field.NewPath("metadata", "annotations", "cnpg.io/hibernation"), "kubectl-cnpg", ""},
		{deployment, field.NewPath("metadata", "annotations", "deployment.kubernetes.io/revision"), "kube-controller-manager", "deployment-revision"},
		{deployment, field.NewPath("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"), "kubectl-client-side-apply", "last-applied"},
		{deployment, field.NewPath("metadata", "annotations", "field.cattle.io/publicEndpoints"), "rancher", "rancher-marks"},
		{deployment, field.NewPath("metadata", "annotations", "field.cattle.io/publicEndpoints"), "kubectl-annotate", ""},
		{deployment, field.NewPath("metadata", "annotations", "team"), "rancher", ""},
		{deployment, field.NewPath("spec", "replicas"), "kubectl", ""},
		{deployment, field.NewPath("spec", "paused"), "kubectl-edit", ""},
		{service, field.NewPath("spec", "clusterIP"), "", "service-allocation"},
		{service, field.NewPath("metadata", "finalizers"), "cloud-controller-manager", "load-balancer"},
		{service, field.NewPath("spec", "externalIPs"), "kubectl-edit", ""},
	} {
		e, ok := c.Allows(claim.Subject{Desired: x.of, Live: x.of}, x.path, by(x.by))
		if e.ID != x.want || ok != (x.want != "") {
			t.Errorf("%s of %s by %q: got %q, want %q", field.PathString(x.path), x.of.ID().Kind, x.by, e.ID, x.want)
		}
	}
}

func TestAClaimOnACountThatIsKeptElsewhere(t *testing.T) {
	c := claim.Builtin()
	o := object.Object{"apiVersion": "example.org/v1", "kind": "Widget", "metadata": map[string]any{"name": "web", "namespace": "shop"}}
	hpa := c.Read(object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "a", "namespace": "shop"},
		"spec": map[string]any{"maxReplicas": int64(3), "scaleTargetRef": map[string]any{"apiVersion": "example.org/v1", "kind": "Widget", "name": "web"}}})
	for _, scale := range []field.Path{nil, field.NewPath("spec", "size")} {
		want := scale
		if want == nil {
			want = claim.Replicas()
		}
		got := c.On(claim.Subject{Desired: o, Scale: scale}, hpa)
		if len(got) != 1 || !got[0].Path.Equals(want) {
			t.Errorf("scale at %v: got %v", scale, got)
		}
	}
}

func TestTheFieldsThatOtherObjectsMayClaim(t *testing.T) {
	c := claim.Builtin()
	deployment, service := object.ID{Group: "apps", Kind: "Deployment"}, object.ID{Kind: "Service"}
	for _, x := range []struct {
		of   object.ID
		path field.Path
		want bool
	}{
		{deployment, claim.Replicas(), true}, {deployment, field.NewPath("spec"), true}, {deployment, field.NewPath("spec", "paused"), false},
		{service, field.NewPath("spec", "selector"), true}, {service, field.NewPath("spec", "selector", "app"), false}, {service, field.NewPath("spec", "ports"), false},
	} {
		if got := len(c.ClaimantsOf(x.of, x.path)) > 0; got != x.want {
			t.Errorf("%s of %s: got %v", field.PathString(x.path), x.of.Kind, got)
		}
	}
}
