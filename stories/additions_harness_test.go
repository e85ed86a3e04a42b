package stories

import (
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// finds waits until truce's report on the app has a finding about a field of one of its objects, as wanted, and returns it.
func (w *world) finds(key app.Key, path string, is func(report.Finding) bool) report.Finding {
	w.t.Helper()
	var last report.Finding
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: %s: %s: added by %q", path, last.Verdict, last.Reason, last.Writer.Manager)
		}
	}()
	w.until("a finding about "+path, func() bool {
		for _, o := range w.running.Engine.Report(key).Objects {
			for _, f := range o.Findings {
				if field.PathString(f.Path) == path {
					if last = f; is(f) {
						return true
					}
				}
			}
		}
		return false
	})
	return last
}

// held waits until truce says that it leaves an addition, by whom it is, and why.
func (w *world) held(key app.Key, path, writer, why string) {
	w.t.Helper()
	w.finds(key, path, func(f report.Finding) bool {
		return f.Verdict == decide.Hold && f.Writer.Manager == writer && strings.Contains(f.Reason, why)
	})
}

// heals scales my-app by hand and waits until truce has corrected the count: what it has not changed by then, it does not change.
// All that the watch shows meanwhile must be as wanted.
func (w *world) heals(d *kubetest.Recorder, meanwhile func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	w.await(d, meanwhile)
	before := len(d.Values())
	w.scaledBack(d, 7, 3)
	w.always(d, before, meanwhile)
}

// always checks what a watch has shown since.
func (w *world) always(d *kubetest.Recorder, since int, is func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	for _, v := range d.Values()[since:] {
		if !is(v.Object) {
			w.t.Errorf("truce took away what it was to leave: %v, %v", v.Object.GetLabels(), v.Object.Object["spec"])
			return
		}
	}
}

// adds patches my-app strategically, as a program of that name.
func (w *world) adds(manager, patch string) {
	w.t.Helper()
	_, err := w.dynamic().Resource(deployments).Namespace(w.ns).Patch(w.ctx, "my-app", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		w.t.Fatal(err)
	}
}

func labelled(key, value string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return o.GetLabels()[key] == value }
}

// ofFlux and ofArgo name the story's app.
func (w *world) ofFlux() app.Key { return appKeyOf("Kustomization", w.ns, "my-app") }
func (w *world) ofArgo() app.Key { return appKeyOf("Application", w.ns, "my-app") }

// myApp is a Flux app of document3 that is brought out, and a watch of its Deployment.
func myApp(t *testing.T, spec string) (*world, *kubetest.Recorder) {
	t.Helper()
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec+spec)
	w.ready("my-app")
	return w, w.Watch(t, deployments, w.ns, "my-app")
}

// becomesAgain waits until an object holds nothing but what it held then.
func (w *world) becomesAgain(d *kubetest.Recorder, then map[string]any) {
	w.t.Helper()
	w.await(d, func(o *unstructured.Unstructured) bool { return cmp.Equal(then, content(o)) })
}

// logged is start, and returns what truce has logged until then.
func (w *world) logged(process policy.Policy) func() string {
	w.t.Helper()
	var lines record
	w.run(compose.RunOptions{Settings: controller.Settings{Process: process, Log: slog.New(slog.NewTextHandler(io.MultiWriter(&lines, w.t.Output()), nil))}})
	return lines.String
}

// record keeps what is written to it.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}
