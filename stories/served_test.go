package stories

import (
	"net/http"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// Of a group with a CRD in the cluster truce asks whether the server serves another kind, too, that could claim something: here
// Argo's Rollout. That the server could not say so once is no reason to wait for that kind for good.
func TestAKindOfWhichNobodyCouldSayWhetherItIsServedHoldsUpNothing(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	w.tap = &tap{}
	const discovery = "/apis/argoproj.io/v1alpha1"
	w.tap.set(func(r *http.Request) *http.Response {
		if r.URL.Path == discovery {
			return broken(r)
		}
		return nil
	})
	w.start(policy.Policy{})
	w.until("the question", func() bool { return len(w.tap.requests(discovery+" 500")) > 0 })
	w.tap.set(nil)
	w.app("app", "./app", defaultSpec)
	w.ready("app")
}
