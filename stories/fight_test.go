package stories

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/fight"
	"github.com/truce-gitops/truce/internal/kubetest"
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

func TestAControllerThatRewritesAFieldIsContested(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"at once": 0, "after a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, app.Policy{}, document3)
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
			w.kubectl("scale", "deployment/my-app", "--replicas=5")
			w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == theirImage && replicas(o) == 3 })
			w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 4")
			w.ready("my-app")
			o := w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
			if got := image(o); got != theirImage {
				t.Errorf("a commit about another field put the contested one back: %s", got)
			}
			if n := corrections(d); n > fight.Most {
				t.Errorf("truce put the image back %d times, want at most %d", n, fight.Most)
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

func TestAPersonWhoRepeatsAnEditIsAnsweredLaterAndLater(t *testing.T) {
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	scale := func() time.Duration {
		seen := len(d.Values())
		since := time.Now()
		w.kubectl("scale", "deployment/my-app", "--replicas=5")
		w.await(d, func(o *unstructured.Unstructured) bool {
			was5 := false
			for _, v := range d.Values()[seen:] {
				was5 = was5 || replicas(v.Object) == 5
			}
			return was5 && replicas(o) == 3
		})
		return time.Since(since)
	}
	scale()
	scale()
	if third := scale(); third < 5*time.Second {
		t.Errorf("the third edit was put back after %s, want a pause", third)
	}
	for _, c := range w.conditions("my-app") {
		if c["type"] == "Contested" {
			t.Errorf("a person is no controller: %v", c)
		}
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
	w := newWorld(t, app.Policy{}, document3)
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
	stop := w.start(app.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.keeper(0)
	w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	before := corrections(d)
	stop()
	w.start(app.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.intervals("my-app", 1)
	w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	if now := corrections(d); now != before {
		t.Errorf("after the restart the image was put back %d times more", now-before)
	}
}
