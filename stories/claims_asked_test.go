package stories

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestACorrectionAsksForClaimantsWhereAClaimantMayHaveWritten: the count that a person has set costs one apply, no list and no discovery. What
// a controller has set is put back only after the claimants were listed, since its write can be seen before the claimant is (ADR 12).
func TestACorrectionAsksForClaimantsWhereAClaimantMayHaveWritten(t *testing.T) {
	for writer, lists := range map[string]bool{"kubectl": false, "some-scaler": true} {
		t.Run(writer, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, document3)
			w.app("my-app", "./apps/my-app", defaultSpec)
			w.ready("my-app")
			w.settled()
			d := w.Watch(t, deployments, w.ns, "my-app")
			before := len(w.Audit(t, w.byTruce))
			w.patch(deployments, "my-app", map[string]any{"spec": map[string]any{"replicas": 5}}, writer)
			w.until("the correction", func() bool {
				since := d.Values()
				drifted := slices.IndexFunc(since, func(v kubetest.Value) bool { return replicas(v.Object) == 5 })
				return drifted >= 0 && replicas(since[len(since)-1].Object) == 3
			})
			asked := map[string]int{}
			for _, e := range w.Audit(t, w.byTruce)[before:] {
				if e.Resource == crds.GroupResource() || e.Resource.Resource == "" && e.Path != "/apis/apps/v1" {
					continue // a kind that was not served is asked for again in its own time, and its definition is read when another story has it served
				}
				what := e.Verb + " " + e.Resource.Resource
				if e.Verb == "patch" && e.Code == 409 {
					what = "stale " + e.Resource.Resource // the deployment controller was quicker
				}
				asked[what]++
			}
			if asked["patch deployments"] != 1 || (asked["list horizontalpodautoscalers"] > 0) != lists || asked["get deployments"] > asked["stale deployments"] {
				t.Errorf("a correction made the requests %v", asked)
			}
			for _, what := range []string{"patch deployments", "stale deployments", "get deployments", "list horizontalpodautoscalers", "create events", "patch kustomizations"} {
				delete(asked, what)
			}
			if len(asked) > 0 && !lists {
				t.Errorf("a correction needs none of these requests: %v", asked)
			}
		})
	}
}
