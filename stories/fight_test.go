package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const theirImage = "nginx:theirs"

// keeper is a small controller that wants another image than Git: it rewrites it whenever it is not its own, so long after it sees that.
func (w *world) keeper(after time.Duration) (stop func()) {
	w.t.Helper()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var done sync.WaitGroup
	done.Go(func() {
		events, err := d.Resource(deployments).Namespace(w.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=my-app"})
		if err != nil {
			return // the story has ended
		}
		defer events.Stop()
		for e := range events.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == watch.Deleted || image(o) == theirImage {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(after):
			}
			patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, theirImage)
			_, err := d.Resource(deployments).Namespace(w.ns).Patch(ctx, "my-app", types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "image-keeper"})
			if err != nil {
				return
			}
		}
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	w.t.Cleanup(stop)
	return stop
}

// corrections counts how often truce put the image back: from the keeper's to Git's.
func corrections(d *kubetest.Recorder) int {
	n, before := 0, ""
	for _, v := range d.Values() {
		if now := image(v.Object); before == theirImage && now != theirImage {
			n++
		}
		before = image(v.Object)
	}
	return n
}

// corrected is the number of corrections after truce has judged the object once more, and found the image contested: another field that is
// changed by hand is corrected with the same look.
func (w *world) corrected(d *kubetest.Recorder) int {
	w.t.Helper()
	w.undone(d, func() { w.kubectl("scale", "deployment/my-app", "--replicas=5") }, ofCount(5), func(o *unstructured.Unstructured) bool {
		return image(o) == theirImage && replicas(o) == 3
	})
	return corrections(d)
}

func TestAControllerThatRewritesAFieldIsContested(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"at once": 0, "after a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, document3)
			w.app("my-app", "./apps/my-app", defaultSpec)
			w.ready("my-app")
			d := w.Watch(t, deployments, w.ns, "my-app")
			w.keeper(after)
			message := w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
			for _, evidence := range []string{".image: ", `"nginx:1.21.0" (Git) vs "` + theirImage + `" (live, set by image-keeper)`, "put back 2 times since 20", "the next try is at 20"} {
				if !strings.Contains(message, evidence) {
					t.Errorf("the condition does not say %s: %s", evidence, message)
				}
			}
			w.corrected(d)
			w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 4")
			w.ready("my-app")
			w.await(d, ofCount(4))
			w.await(d, ofImage(theirImage))
			if n := corrections(d); n > fight.MaxCorrections+1 {
				t.Errorf("truce put the image back %d times, want at most %d, and one more for the commit", n, fight.MaxCorrections)
			}
			w.events("FieldContested", `"nginx:1.21.0" (Git) vs "`+theirImage+`" (live, set by image-keeper): put back 2 times since 20`)
		})
	}
}

// events waits until an event about the story's app has the reason and the text.
func (w *world) events(reason, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		said := w.kubectl("get", "events.events.k8s.io", "--field-selector", "reason="+reason, "-o", "jsonpath={.items[*].note}")
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("no event %s names %s: %s", reason, text, said)
		case <-tick.C:
		}
	}
}

func TestAPersonWhoRepeatsAnEditIsCorrectedEachTime(t *testing.T) {
	const edits = 5
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	for range edits {
		w.scaledBack(d, 5, 3)
	}
	for _, c := range w.conditions("my-app") {
		if c["type"] == "Contested" {
			t.Errorf("a person is no controller: %v", c)
		}
	}
	w.until("the last correction in the journal", func() bool { // it is noted when the answer has come, which the watch may outrun
		corrected := 0
		err := w.running.Engine.Journal.Read(journal.Query{}, func(e journal.Entry) bool {
			if until, _ := decide.CorrectionDue(e.Reason); until.After(e.At.Add(fight.MinSpacing)) {
				t.Errorf("an edit of a person waits longer than %s: %s at %s: %s", fight.MinSpacing, e.What, e.At, e.Reason)
			}
			if e.What == journal.Corrected && e.Path == ".spec.replicas" {
				corrected++
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return corrected == edits
	})
}

// TestARequestTriesAContestedFieldOnce: a request overrides the breaker for one correction, and the status says what came of it.
func TestARequestTriesAContestedFieldOnce(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+`
-- apps/my-app/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
data: {colour: blue}
`)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	stop := w.keeper(0)
	contested := func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" }
	w.condition("my-app", "Contested", contested)
	before := w.corrected(d)
	if before > fight.MaxCorrections {
		t.Errorf("the breaker opens after %d corrections, want at most %d", before, fight.MaxCorrections)
	}
	tried := func(n int, of string, asked func()) {
		t.Helper()
		w.undone(d, asked, ofImage("nginx:1.21.0"), ofImage(theirImage))
		if now := w.corrected(d); now != before+n {
			t.Errorf("after %s the image was put back %d times, want %d", of, now-before, n)
		}
		w.condition("my-app", "Contested", func(c map[string]any, o *unstructured.Unstructured) bool {
			text, _ := c["message"].(string)
			return contested(c, o) && strings.Contains(text, "; corrected on request at 20") && strings.Contains(text, " and changed back; the next try is at 20")
		})
	}
	tried(1, "a request", func() { w.intervals("my-app", 1) })
	tried(2, "a commit about another object", func() {
		w.edit("apps/my-app/settings.yaml", "blue", "green")
		w.ready("my-app")
	})
	stop()
	w.intervals("my-app", 1)
	w.await(d, ofImage("nginx:1.21.0"))
	w.await(w.Watch(t, kustomizations, w.ns, "my-app"), func(o *unstructured.Unstructured) bool {
		return !slices.ContainsFunc(entries(o, "status", "conditions"), func(c map[string]any) bool { return c["type"] == "Contested" || c["type"] == "Drifted" })
	})
}

func TestAnOperationTriesAContestedFieldOnce(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", automated)
	w.inSync("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.keeper(0)
	w.argoCondition("my-app", "FieldsContestedWarning", "image-keeper")
	before := w.corrected(d)
	if phase, message := w.order("my-app", `{"sync":{},"initiatedBy":{"username":"ann"}}`); phase != "Succeeded" {
		t.Errorf("%s: %s", phase, message)
	}
	w.argoCondition("my-app", "FieldsContestedWarning", " and changed back; the next try is at 20")
	if now := w.corrected(d); now != before+1 {
		t.Errorf("the operation put the image back %d times, want once", now-before)
	}
}

func (w *world) conditions(name string) []map[string]any {
	w.t.Helper()
	o := w.await(w.Watch(w.t, kustomizations, w.ns, name), func(*unstructured.Unstructured) bool { return true })
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []map[string]any
	for _, e := range list {
		if c, ok := e.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

func TestStatusUpdatesAreNoFight(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	made := len(w.writes("my-app"))
	for n := range 300 {
		patch := fmt.Appendf(nil, `{"status":{"observedGeneration":1,"conditions":[{"type":"Busy","status":"True","reason":"n%d"}]}}`, n)
		_, err := d.Resource(deployments).Namespace(w.ns).Patch(w.ctx, "my-app", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "busy"}, "status")
		if err != nil {
			t.Fatal(err)
		}
	}
	w.intervals("my-app", 1)
	if now := len(w.writes("my-app")); now != made {
		t.Errorf("truce wrote %d times to a Deployment of which only the status changes", now-made)
	}
	for _, c := range w.conditions("my-app") {
		if c["type"] == "Contested" || c["type"] == "Drifted" {
			t.Errorf("a false alarm: %v", c)
		}
	}
}

func TestARestartInTheMiddleOfAFightIsNoNewFight(t *testing.T) {
	w := offWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.keeper(0)
	w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	before := w.corrected(d)
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.repo.Commit(map[string]string{"README": "a run that nobody asked for\n"}, "not about the app")
	w.ready("my-app")
	w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	if now := w.corrected(d); now != before {
		t.Errorf("after the restart the image was put back %d times more", now-before)
	}
}
