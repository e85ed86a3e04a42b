package stories

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const threeReplicas = `
-- web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.21.0"}]}
`

var configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// loopback is the address at which the sandbox's API server reports writes.
var loopback = attribution.Place{Listen: "127.0.0.1:0"}

// watched starts truce with a witness, and returns what it finds.
func watched(w *world, process policy.Policy) (notices <-chan report.FindingEvent, stop func()) {
	w.t.Helper()
	return noticed(w, compose.RunOptions{Settings: controller.Settings{Process: process, Witness: loopback}})
}

// noticed starts truce, and returns what it finds.
func noticed(w *world, o compose.RunOptions) (notices <-chan report.FindingEvent, stop func()) {
	w.t.Helper()
	out := make(chan report.FindingEvent, 256)
	o.Observer = findings{out: out}
	return out, w.run(o)
}

// findings are those of a controller. Without a reader some are lost.
type findings struct {
	controller.NoObserver
	out chan<- report.FindingEvent
}

func (f findings) OnFinding(n report.FindingEvent) {
	select {
	case f.out <- n:
	default:
	}
}

// awaitFinding waits for a finding about a field of web.
func (w *world) awaitFinding(notices <-chan report.FindingEvent, path string, is func(report.Finding) bool) report.Finding {
	w.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case n := <-notices:
			if f := n.Finding; n.ID.Name == "web" && field.PathString(f.Path) == path && is(f) {
				return f
			}
		case <-limit:
			w.t.Fatalf("nothing was said of %s", path)
		}
	}
}

func anything(report.Finding) bool { return true }

// seen waits until the API server reports writes: it takes a moment to read a new configuration.
func (w *world) seen() {
	w.t.Helper()
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: w.ns, Name: "web"}
	before := len(w.running.Engine.Witnesses.Writes.Of(web))
	for n := 0; len(w.running.Engine.Witnesses.Writes.Of(web)) == before; n++ {
		w.kubectl("annotate", "--overwrite", "deployment/web", fmt.Sprintf("probe.example/try=%d", n))
		if w.ctx.Err() != nil {
			w.t.Fatal("the API server does not tell of writes")
		}
	}
}

// alice is a user with all permissions.
func (w *world) alice(args ...string) {
	w.t.Helper()
	w.kubectl(append([]string{"--as=alice", "--as-group=system:masters"}, args...)...)
}

func TestAPersonWhoScalesIsToldByName(t *testing.T) {
	w := offWorld(t, threeReplicas)
	notices, _ := watched(w, policy.Policy{})
	w.app("web", "./", defaultSpec)
	w.ready("web")
	w.seen()
	begin := time.Now().Add(-time.Second)
	w.alice("scale", "deployment/web", "--replicas=5")
	f := w.awaitFinding(notices, ".spec.replicas", anything)
	by := f.Writer
	if by.String() != "kubectl (scale) as alice" || by.User != "alice" || by.Evidence != ownership.Recorded || by.Time.Before(begin) || !by.Person || by.Often != 1 {
		t.Errorf("%+v", by)
	}
	w.eventSays("as alice")

	w.alice("delete", "deployment/web", "--wait=false")
	if by := w.awaitFinding(notices, ".", anything).Writer; by.User != "alice" || by.Operation != "DELETE" {
		t.Errorf("deleted by %+v", by)
	}
}

// eventSays waits for an Event of the story's namespace with the text.
func (w *world) eventSays(text string) {
	w.t.Helper()
	events := w.dynamic().Resource(schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}).Namespace(w.ns)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		all, err := events.List(w.ctx, metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		if slices.ContainsFunc(all.Items, func(o unstructured.Unstructured) bool {
			note, _, _ := unstructured.NestedString(o.Object, "note")
			return strings.Contains(note, text)
		}) {
			return
		}
	}
}

func TestWhatTheAutoscalerScalesIsTheAutoscalers(t *testing.T) {
	w := offWorld(t, document1)
	notices, _ := watched(w, policy.Policy{})
	w.app("web", "./apps/web/production", defaultSpec)
	w.ready("web")
	w.seen()
	w.load(8)
	f := w.awaitFinding(notices, ".spec.replicas", func(f report.Finding) bool { return f.Live == int64(8) })
	if by := f.Writer; f.Verdict != decide.Cede || by.Name != "HPA "+w.ns+"/web" || by.Evidence != ownership.Recorded || by.Person ||
		!slices.ContainsFunc(by.Because, func(s string) bool { return strings.HasPrefix(s, "admission: ") }) {
		t.Errorf("%s: %+v", f.Verdict, by)
	}

	// A person goes in between, within the autoscaler's bounds: it is the person.
	w.alice("scale", "deployment/web", "--replicas=9")
	f = w.awaitFinding(notices, ".spec.replicas", func(f report.Finding) bool { return f.Live == int64(9) })
	if by := f.Writer; by.User != "alice" || by.Before != int64(8) || by.Often < 2 {
		t.Errorf("%+v, want alice, from 8, at least the second time within the hour", by)
	}
}

func TestAScaleThatNobodyRecordsIsTold(t *testing.T) {
	w := offWorld(t, threeReplicas)
	// Without a count, so that it has no owner, and a scale write leaves no trace in managedFields (field-ownership E6, F1).
	unowned := strings.ReplaceAll(strings.Replace(threeReplicas[strings.Index(threeReplicas, "apiVersion"):], "  replicas: 3\n", "", 1), "NAMESPACE", w.ns)
	w.ApplyAs(t, "somebody", unowned)
	notices, _ := watched(w, policy.Policy{Mode: policy.Observe})
	w.app("web", "./", defaultSpec)
	w.awaitFinding(notices, ".spec.replicas", anything)
	w.seen()
	w.alice("scale", "deployment/web", "--replicas=5")
	f := w.awaitFinding(notices, ".spec.replicas", func(f report.Finding) bool { return f.Live == int64(5) })
	if by := f.Writer; by.Name != "alice (scale)" || by.User != "alice" || by.Evidence != ownership.Recorded {
		t.Errorf("%+v", by)
	}
	for _, e := range w.one(deployments, "web").GetManagedFields() {
		if e.Subresource == "scale" {
			t.Errorf("managedFields record it after all: %+v", e)
		}
	}
}

// TestTheAutoscalersOwnEventSaysThatItWasIt: without a witness, for a count without an owner. The claim points to the autoscaler; its
// Event makes it certain.
func TestTheAutoscalersOwnEventSaysThatItWasIt(t *testing.T) {
	w := offWorld(t, document1)
	w.ApplyAs(t, "somebody", strings.ReplaceAll(section(document1, "apps/web/base/web.yaml"), "name: web\nspec", "name: web\n  namespace: "+w.ns+"\nspec"))
	w.ApplyAs(t, "somebody", strings.ReplaceAll(section(document1, "apps/web/base/hpa.yaml"), "name: web\nspec", "name: web\n  namespace: "+w.ns+"\nspec"))
	w.load(8)
	w.await(w.Watch(t, deployments, w.ns, "web"), func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	notices, _ := noticed(w, compose.RunOptions{Settings: controller.Settings{Process: policy.Policy{Mode: policy.Observe}}})
	w.app("web", "./apps/web/production", defaultSpec)
	first := w.awaitFinding(notices, ".spec.replicas", func(f report.Finding) bool { return f.Live == int64(8) }).Writer
	by := w.finds(appKeyOf("Kustomization", w.ns, "web"), ".spec.replicas", func(f report.Finding) bool {
		return f.Live == int64(8) && f.Writer.Evidence == ownership.Recorded
	}).Writer
	if by.Name != "HPA "+w.ns+"/web" || first.Evidence != ownership.Inferred || !slices.ContainsFunc(by.Because, func(s string) bool { return strings.HasPrefix(s, "events: SuccessfulRescale") }) {
		t.Errorf("inferred first: %+v; then %+v", first, by)
	}
	lists := w.Audit(t, func(e kubetest.Entry) bool {
		return e.Verb == "list" && e.Resource.Resource == "events" && e.Namespace == w.ns && strings.HasPrefix(e.Agent, "truce")
	})
	if len(lists) != 1 {
		t.Errorf("Events were listed %d times, want once: %+v", len(lists), lists)
	}
}

// section is one file of a txtar.
func section(files, name string) string {
	_, rest, _ := strings.Cut(files, "-- "+name+" --\n")
	text, _, _ := strings.Cut(rest, "\n-- ")
	return text + "\n"
}

// one reads an object of the story's namespace.
func (w *world) one(kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.dynamic().Resource(kind).Namespace(w.ns).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func TestWhatAWebhookChangesInSomebodysRequestIsNotTheirs(t *testing.T) {
	w := offWorld(t, threeReplicas)
	notices, _ := watched(w, policy.Policy{Additions: policy.AdditionsAllow}) // a write that took them away would be changed by the webhook, too
	w.app("web", "./", defaultSpec)
	w.ready("web")
	w.seen()
	mutatingWebhook(w)
	w.alice("annotate", "deployment/web", "note=hello")
	f := w.awaitFinding(notices, ".spec.template.spec.containers[name=web].image", anything)
	if by := f.Writer; by.Name != "MutatingWebhookConfiguration "+w.ns || by.During != "kubectl-annotate as alice" || by.Evidence != ownership.Recorded {
		t.Errorf("%+v", by)
	}
	if f.Verdict != decide.Cede || !strings.Contains(f.Reason, "(recorded)") {
		t.Errorf("%s: %s; the witness knows the webhook", f.Verdict, f.Reason)
	}
}

func TestTheWitnessGoesWithItsFlag(t *testing.T) {
	w := offWorld(t, threeReplicas)
	_, stop := watched(w, policy.Policy{})
	w.app("web", "./", defaultSpec)
	w.ready("web")
	w.seen()
	left := w.offered()
	stop()
	if w.configuration() != nil {
		t.Error("the configuration stays after a clean end")
	}

	w.restore(left, func(*unstructured.Unstructured) {}) // as a killed process leaves it
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	for w.configuration() != nil {
		if w.ctx.Err() != nil {
			t.Fatal("what a killed process has left stays without the flag")
		}
	}
	w.kubectl("scale", "deployment/web", "--replicas=5") // and truce works as before
	w.await(w.Watch(t, deployments, w.ns, "web"), func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
}

// configuration is the witness's, nil for none.
func (w *world) configuration() *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.dynamic().Resource(configurations).Get(w.ctx, "truce-witness-"+w.ns, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// offered waits for the witness's configuration: a truce that is slow to answer itself takes it away for a while.
func (w *world) offered() *unstructured.Unstructured {
	w.t.Helper()
	var o *unstructured.Unstructured
	w.until("the witness's configuration", func() bool {
		o = w.configuration()
		return o != nil
	})
	return o
}

// restore creates a configuration as it was, or nearly so.
func (w *world) restore(was *unstructured.Unstructured, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	o := was.DeepCopy()
	for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", f)
	}
	change(o)
	if _, err := w.dynamic().Resource(configurations).Create(w.ctx, o, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		err := w.dynamic().Resource(configurations).Delete(context.WithoutCancel(w.t.Context()), o.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
	})
}

// TestAWitnessThatIsDeadRefusesNothing measures a scale write without a witness, with one, with one that is dead, and with one that
// hangs: none is refused, and only one that hangs makes a write wait, for the second that is the least the API server takes; twice where
// the object has changed meanwhile, so that it asks again.
func TestAWitnessThatIsDeadRefusesNothing(t *testing.T) {
	w := offWorld(t, threeReplicas)
	_, stop := watched(w, policy.Policy{Mode: policy.Observe})
	w.app("web", "./", defaultSpec)
	w.Apply(t, strings.ReplaceAll(threeReplicas[strings.Index(threeReplicas, "apiVersion"):], "NAMESPACE", w.ns))
	for w.running.Engine.Witnesses.Writes == nil || !w.running.Engine.Manages(object.ID{Group: "apps", Kind: "Deployment", Namespace: w.ns, Name: "web"}) {
		if w.ctx.Err() != nil {
			t.Fatal("web is not managed")
		}
	}
	w.seen()
	with := w.scaleWrites(100)
	left := w.offered()
	stop()
	without := w.scaleWrites(100)
	w.restore(left, func(*unstructured.Unstructured) {}) // its address refuses connections
	dead := w.scaleWrites(100)
	t.Logf("scale writes, p50 and worst: without %s, with %s, dead %s", without, with, dead)

	hung, err := net.Listen("tcp", "127.0.0.1:0") // takes connections in, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hung.Close() })
	if err := w.dynamic().Resource(configurations).Delete(w.ctx, left.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.restore(left, func(o *unstructured.Unstructured) { redirect(o, "https://"+hung.Addr().String()+"/") })
	slow := w.scaleWrites(5)
	t.Logf("one that hangs: %s", slow)
}

func redirect(o *unstructured.Unstructured, url string) {
	hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	for _, h := range hooks {
		h.(map[string]interface{})["clientConfig"].(map[string]interface{})["url"] = url
	}
	_ = unstructured.SetNestedSlice(o.Object, hooks, "webhooks")
}

type took struct{ p50, worst time.Duration }

func (t took) String() string { return fmt.Sprintf("%s and %s", t.p50, t.worst) }

// scaleWrites measures n writes to the subresource scale of web. Each must succeed.
func (w *world) scaleWrites(n int) took {
	w.t.Helper()
	r := w.dynamic().Resource(deployments).Namespace(w.ns)
	var all []time.Duration
	for i := range n {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 3+i%2)
		begin := time.Now()
		_, err := r.Patch(w.ctx, "web", "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "story"}, "scale")
		if err != nil {
			w.t.Fatalf("refused: %v", err)
		}
		all = append(all, time.Since(begin))
	}
	slices.Sort(all)
	return took{all[n/2].Round(10 * time.Microsecond), all[n-1].Round(10 * time.Microsecond)}
}
