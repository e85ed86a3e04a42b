package stories

import (
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// paused is an app of either dialect whose workload an autoscaler keeps at 5, and that says what is to be done about a pause.
func (s dialect) paused(what string) app.Key {
	s.t.Helper()
	s.asks("")
	key, kind := s.ofFlux(), kustomizations
	if s.argo {
		key, kind = s.ofArgo(), applications
	}
	s.annotate(kind, "my-app", "truce.dev/pause", what)
	s.synced()
	s.Apply(s.t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "my-app"), "NAMESPACE", s.ns))
	s.kubectl("scale", "deployment/my-app", "--replicas=5")
	s.finds(key, ".spec.replicas", func(f report.Finding) bool { return f.Verdict == decide.Cede && f.Live == int64(5) })
	return key
}

// trouble makes every read of the Deployment and of the autoscalers fail, until the tap is set again.
func (s dialect) trouble() {
	s.tap.set(func(r *http.Request) *http.Response {
		if r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/deployments/my-app") || strings.HasSuffix(r.URL.Path, "/horizontalpodautoscalers")) {
			return broken(r)
		}
		return nil
	})
}

// writesNothing checks that the Deployment was not written since the trouble began.
func (s dialect) writesNothing() {
	s.t.Helper()
	for _, r := range s.tap.requests("/deployments/my-app") {
		if !strings.HasPrefix(r, http.MethodGet) {
			s.t.Errorf("written while nothing could be read: %s", r)
		}
	}
}

// Measured on Flux: while one read fails its rules are skipped, and the paused workload is started.
func TestAPauseLastsWhileTheServerHasTrouble(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		key := s.paused("report")
		d := s.deployment()
		s.kubectl("scale", "deployment/my-app", "--replicas=0")
		paused := func(f report.Finding) bool { return strings.HasPrefix(f.Reason, "paused by ") && f.Live == int64(0) }
		s.finds(key, ".spec.replicas", paused)
		s.trouble()
		s.commit("nginx:1.21.0", "nginx:1.22.0", "replicas: 3", "replicas: 4")
		s.awaitsText("etcdserver: request timed out")
		s.writesNothing()
		s.tap.set(nil)
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		s.finds(key, ".spec.replicas", paused)
		stays(t, d, 5, 0)
	})
}

func TestAPauseThatIsToEndEndsWhenTheTroubleDoes(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		s.paused("correct")
		d := s.deployment()
		s.trouble()
		s.kubectl("scale", "deployment/my-app", "--replicas=0")
		s.awaitsText("etcdserver: request timed out")
		s.writesNothing()
		stays(t, d, 5, 0)
		s.tap.set(nil)
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
		stays(t, d, 5, 0, 5)
	})
}

// TestAPauseWhileTheScaleSubresourceAnswers500 is about a custom resource that cannot be converted: a request for its scale at the
// version that Git and the autoscaler name gets a 500, and a person pauses it at the other one.
func TestAPauseWhileTheScaleSubresourceAnswers500(t *testing.T) {
	w := offWorld(t, "-- app/crew.yaml --\n"+strings.Replace(crewOf("Crew", "web", "workers: {count: 3}"), "example.com/v1", "example.com/v2", 1)+
		"---\n"+strings.Replace(crewScaler("Crew", "web"), "example.com/v1", "example.com/v2", 1))
	crews := w.defineCrews("Crew", "")
	w.start(policy.Policy{})
	w.app("app", "./app", everyFiveSeconds)
	w.annotate(kustomizations, "app", "truce.dev/pause", "correct")
	name := "crews.v1." + w.ns + ".example.com/web"
	t.Run("while it answers", func(t *testing.T) { // the watch cannot go on without the conversion
		w.ready("app")
		w.kubectl("scale", name, "--replicas=7")
		w.readyTells("app", ".spec.workers.count to HPA", true)
	})

	w.defineCrews("Crew", brokenConversion)
	crewsAt2 := crews
	crewsAt2.Version = "v2"
	w.until("the API to fail", func() bool { return !w.canList(crewsAt2) })
	before := len(w.objectWrites())
	w.kubectl("scale", name, "--replicas=0")
	w.edit("app/crew.yaml", "colour: red", "colour: blue")
	w.condition("app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "False" && contains(c["message"], "conversion webhook")
	})
	w.wroteNothingSince(before)
	if n := crew(w.one(crews, "web")); n != 0 {
		t.Errorf("the count is %d, want the person's 0", n)
	}

	w.defineCrews("Crew", "conversion: {strategy: None}")
	w.until("the API to answer", func() bool { return w.canList(crewsAt2) })
	d := w.Watch(t, crews, w.ns, "web")
	w.await(d, func(o *unstructured.Unstructured) bool { return crew(o) == 7 && colour(o) == "blue" })
	w.ready("app")
}
