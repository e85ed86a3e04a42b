package stories

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crewFloor checks every value of the watch: the count never falls, and is never missing.
func crewFloor(t *testing.T, d *kubetest.Recorder, floor int64) {
	t.Helper()
	last := floor
	for _, v := range d.Values() {
		n := crew(v.Object)
		if n < last {
			t.Errorf("the count went from %d to %d at version %s, owners %s", last, n, v.Object.GetResourceVersion(), writers(v.Object))
		}
		last = n
	}
}

func TestACustomResourceIsScaledWhereItsCRDSays(t *testing.T) {
	files := ""
	for _, kind := range []string{"Crew", "Guild"} {
		files += "-- app/" + kind + ".yaml --\n" + crewOf(kind, "web", "workers: {count: 3, shift: day}") + "---\n" + strings.Replace(crewScaler(kind, "web"), "name: web", "name: "+strings.ToLower(kind), 1)
	}
	w := offWorld(t, files)
	kinds := map[string]schema.GroupVersionResource{}
	watch := map[string]*kubetest.Recorder{}
	for _, kind := range []string{"Crew", "Guild"} {
		kinds[kind] = w.defineCrews(kind, "")
		watch[kind] = w.Watch(t, kinds[kind], w.ns, "web")
		w.foreman(kinds[kind])
	}
	w.start(policy.Policy{})
	w.app("app", "./app", everyFiveSeconds)
	w.ready("app")
	all := func(n int64, is func(*unstructured.Unstructured) bool) {
		for kind := range kinds {
			w.await(watch[kind], func(o *unstructured.Unstructured) bool { return crew(o) == n && is(o) })
		}
	}
	for kind := range kinds {
		w.employs(kinds[kind], "web", 6)
	}
	all(6, func(*unstructured.Unstructured) bool { return true })
	for kind := range kinds { // another field is Git's, the count is the HPA's
		w.edit("app/"+kind+".yaml", "colour: red, workers: {count: 3", "colour: blue, workers: {count: 4")
	}
	w.ready("app")
	all(6, func(o *unstructured.Unstructured) bool { return colour(o) == "blue" })
	for kind := range kinds { // Git stops naming the count
		w.edit("app/"+kind+".yaml", "count: 4, ", "")
	}
	w.ready("app")
	for kind := range kinds {
		w.employs(kinds[kind], "web", 9)
	}
	all(9, func(*unstructured.Unstructured) bool { return true })
	w.readyTells("app", "NotSynced", false)
	for kind := range kinds {
		crewFloor(t, watch[kind], 3)
	}
}

func colour(o *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(o.Object, "spec", "colour")
	return s
}

func TestANewCustomResourceUnderAnAutoscalerIsBornWithACount(t *testing.T) {
	w := offWorld(t, "-- app/crew.yaml --\n"+crewOf("Crew", "web", "")+"---\n"+crewScaler("Crew", "web"))
	crews := w.defineCrews("Crew", "")
	d := w.Watch(t, crews, w.ns, "web")
	w.foreman(crews)
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.employs(crews, "web", 5)
	w.await(d, func(o *unstructured.Unstructured) bool { return crew(o) == 5 })
	crewFloor(t, d, 2)
}

func TestACountThatIsGoneFromACustomResourceIsPutBack(t *testing.T) {
	w := offWorld(t, "-- app/crew.yaml --\n"+crewOf("Crew", "web", "workers: {count: 3, shift: day}")+"---\n"+crewScaler("Crew", "web"))
	crews := w.defineCrews("Crew", "")
	d := w.Watch(t, crews, w.ns, "web")
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	name := "crews." + w.ns + ".example.com/web"
	w.kubectl("scale", name, "--replicas=7")
	w.readyTells("app", "ceded: Crew "+w.ns+"/web .spec.workers.count to HPA "+w.ns+"/web", true)
	w.undone(d, func() { w.kubectl("patch", name, "--type=json", `-p=[{"op":"remove","path":"/spec/workers/count"}]`) },
		func(o *unstructured.Unstructured) bool { return crew(o) < 0 }, func(o *unstructured.Unstructured) bool { return crew(o) == 7 })
	w.edit("app/crew.yaml", "count: 3, ", "")
	w.ready("app")
	w.check("app")
	if n := crew(d.Newest()); n != 7 {
		t.Errorf("the count is %d, want the 7 that it was put back to", n)
	}
}

// TestACountThatAPersonSetsOnACustomResourceStays: as that of a Deployment, where Git names none, and no autoscaler means it.
func TestACountThatAPersonSetsOnACustomResourceStays(t *testing.T) {
	w := offWorld(t, "-- app/crew.yaml --\n"+crewOf("Crew", "web", "workers: {count: 8, shift: day}"))
	crews := w.defineCrews("Crew", "")
	d := w.Watch(t, crews, w.ns, "web")
	w.start(policy.Policy{})
	w.app("app", "./app", everyFiveSeconds)
	w.ready("app")
	w.edit("app/crew.yaml", "count: 8, ", "")
	w.ready("app")
	w.kubectl("patch", "crews."+w.ns+".example.com/web", "--type=merge", `-p={"spec":{"workers":{"count":10}}}`)
	w.held(appKeyOf("Kustomization", w.ns, "app"), ".spec.workers.count", "kubectl-patch", "Git names no count")
	w.edit("app/crew.yaml", "colour: red", "colour: blue")
	w.ready("app")
	w.await(d, func(o *unstructured.Unstructured) bool { return colour(o) == "blue" })
	crewFloor(t, d, 8)
	if n := crew(d.Newest()); n != 10 {
		t.Errorf("the count is %d, want the person's 10", n)
	}
}

// within runs a command that is ended after a time; its exit code is -1 then.
func (w *world) within(d time.Duration, args ...string) (int, string) {
	w.t.Helper()
	buildTruce(w.t)
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	limited := *w
	limited.ctx = ctx
	return limited.command(args...)
}

// brokenConversion is a conversion webhook without a server.
const brokenConversion = `conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/"}}}`

func TestAScaleSubresourceThatAnswers500LeadsToNoWrite(t *testing.T) {
	w := offWorld(t, "-- app/crew.yaml --\n"+strings.Replace(crewOf("Crew", "web", "workers: {count: 3}"), "example.com/v1", "example.com/v2", 1)+
		"---\n"+strings.Replace(crewScaler("Crew", "web"), "example.com/v1", "example.com/v2", 1))
	crews := w.defineCrews("Crew", "")
	w.start(policy.Policy{})
	w.app("app", "./app", everyFiveSeconds)
	t.Run("while it answers", func(t *testing.T) { // the watch cannot go on without the conversion
		d := w.Watch(t, crews, w.ns, "web")
		w.ready("app")
		w.kubectl("scale", "crews.v1."+w.ns+".example.com/web", "--replicas=7")
		w.readyTells("app", ".spec.workers.count to HPA", true)
		crewFloor(t, d, 3)
	})

	w.defineCrews("Crew", brokenConversion)
	crewsAt2 := crews
	crewsAt2.Version = "v2"
	w.until("the API to fail", func() bool { return !w.canList(crewsAt2) })
	before := len(w.objectWrites())
	w.edit("app/crew.yaml", "colour: red", "colour: blue")
	w.condition("app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		message, _ := c["message"].(string)
		return c["status"] == "False" && strings.Contains(message, "conversion webhook")
	})
	w.wroteNothingSince(before)
	for args, want := range map[string]string{
		"app list -o json":           "Crew cannot be listed: ",
		"app get app":                "conversion webhook",
		"app wait app --timeout 30s": "not in time: ",
	} {
		if code, said := w.within(2*time.Minute, strings.Fields(args)...); code < 0 || !strings.Contains(said, want) {
			t.Errorf("truce %s: exit code %d, and no %q within two minutes:\n%s", args, code, want, said)
		}
	}

	w.defineCrews("Crew", "conversion: {strategy: None}")
	w.until("the API to answer", func() bool { return w.canList(crewsAt2) })
	d := w.Watch(t, crews, w.ns, "web")
	w.ready("app")
	w.await(d, func(o *unstructured.Unstructured) bool { return colour(o) == "blue" })
	crewFloor(t, d, 3)
	if n := crew(d.Newest()); n != 7 {
		t.Errorf("the count is %d, want 7", n)
	}
}
