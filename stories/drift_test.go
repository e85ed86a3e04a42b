package stories

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// document3 is the Deployment of the third requirement document, with more fields to change.
const document3 = `
-- apps/my-app/my-app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
  namespace: NAMESPACE
  annotations: {team: shop}
spec:
  replicas: 3
  selector:
    matchLabels: {app: my-app}
  template:
    metadata:
      labels: {app: my-app}
    spec:
      containers:
      - name: main
        image: nginx:1.21.0
        args: [serve, --fast]
        env: [{name: COLOUR, value: blue}]
`

// edits are what people do to a Deployment by hand. Each must be put back, whatever it was, without anybody asking.
var edits = map[string][]string{
	"replicas":           {"scale", "deployment/my-app", "--replicas=5"},
	"an image":           {"set", "image", "deployment/my-app", "main=nginx:1.22.0"},
	"an env value":       {"set", "env", "deployment/my-app", "COLOUR=red"},
	"an annotation":      {"annotate", "--overwrite", "deployment/my-app", "team=other"},
	"a label":            {"label", "--overwrite", "deployment/my-app", "truce.dev/part-of=somebody"},
	"our mark":           {"label", "deployment/my-app", "truce.dev/part-of-"},
	"a container arg":    {"patch", "deployment/my-app", "--type=json", `-p=[{"op":"remove","path":"/spec/template/spec/containers/0/args/1"}]`},
	"an annotation gone": {"annotate", "deployment/my-app", "team-"},
}

func TestWhatPeopleChangeByHandIsPutBack(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	want := wantedParts(d.Values()[0].Object)
	for what, args := range edits {
		t.Run(what, func(t *testing.T) {
			back := func(o *unstructured.Unstructured) bool { return cmp.Equal(want, wantedParts(o)) }
			w.undone(d, func() { w.kubectl(args...) }, func(o *unstructured.Unstructured) bool { return !back(o) }, back)
		})
	}
}

// wantedParts are the parts of a Deployment that Git names: all but what controllers write.
func wantedParts(o *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	team := o.GetAnnotations()["team"]
	return map[string]any{"spec": spec, "labels": o.GetLabels(), "team": team}
}

func TestADeletedObjectComesBack(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	uid := d.Values()[0].Object.GetUID()
	w.kubectl("delete", "deployment/my-app", "--wait=false")
	w.await(d, func(o *unstructured.Unstructured) bool { return o.GetUID() != uid && replicas(o) == 3 })
}

func TestRemediationOffReportsAndWritesNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: false}")
	w.ready("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	message := w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return contains(c["message"], "replicas")
	})
	t.Log(message)
	d := w.Watch(t, deployments, w.ns, "my-app")
	if got := replicas(d.Values()[0].Object); got != 5 {
		t.Errorf("replicas = %d, want the 5 that the person set: remediation is off", got)
	}
	if writes := w.writes("my-app"); len(writes) != 1 {
		t.Errorf("truce wrote %d times to the Deployment, want the one that made it: %v", len(writes), writes)
	}
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: true}")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
}

func TestANewCommitUnderRemediationOffLeavesDriftAlone(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: false}")
	w.ready("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.ready("my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	for _, v := range d.Values() {
		if n := replicas(v.Object); n != 5 && n != 3 || n == 3 && image(v.Object) == "nginx:1.22.0" {
			t.Errorf("replicas %d with image %s: a commit must not correct what is only reported", n, image(v.Object))
		}
	}
}

func TestASuspendedAppStandsStillUntilResumed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.suspend("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.kubectl("annotate", "kustomization/my-app", "reconcile.fluxcd.io/requestedAt=now")
	before := len(w.writes("my-app"))
	w.kubectl("patch", "kustomization/my-app", "--type=merge", `-p={"spec":{"suspend":false}}`)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 && image(o) == "nginx:1.22.0" })
	if before != 1 {
		t.Errorf("%d writes while suspended, want only the creation before", before)
	}
}

// suspend suspends an app, and returns when truce has seen it: it may see later what happens to the app's objects first.
func (w *world) suspend(name string) {
	w.t.Helper()
	w.suspendKind(kustomizations, "Kustomization", name)
}

// suspendKind suspends an app of a kind, and waits until truce has seen it: a correction that has begun before may still be written.
func (w *world) suspendKind(of schema.GroupVersionResource, kind, name string) {
	w.t.Helper()
	w.patch(of, name, map[string]any{"spec": map[string]any{"suspend": true}}, "kubectl-patch")
	w.until("the suspension to be seen", func() bool {
		return w.running.Engine.Report(appKeyOf(kind, w.ns, name)).Reason == report.Suspended
	})
}

func TestRemediationIntervalSpacesCorrections(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: true, remediationInterval: 3s}")
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	for _, n := range []int64{5, 6} {
		w.scaledBack(d, n, 3)
	}
	writes := w.writes("my-app")[1:] // the first has made it
	if len(writes) != 2 || writes[1].Received.Sub(writes[0].Received) < 3*time.Second {
		t.Errorf("want 2 corrections that are at least 3 s apart: %v", writes)
	}
}

// TestWhatIsCreatedAgainIsNotMissing looks at the app at the moment at which the object was written again: it is there, though nothing has compared it yet.
func TestWhatIsCreatedAgainIsNotMissing(t *testing.T) {
	w := offWorld(t, document3)
	seen, key := make(chan report.Report, 16), appKeyOf("Kustomization", w.ns, "my-app")
	w.run(compose.RunOptions{Observer: &recreated{w: w, seen: seen}})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	w.until("the suspension", func() bool { return w.running.Engine.Report(key).State().Suspended })
	w.kubectl("delete", "deployment/my-app", "--wait=false")
	w.until("the Deployment to be missing", func() bool { why, _ := w.running.Engine.Report(key).Missing(); return why != "" })
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	select {
	case r := <-seen:
		for _, o := range r.Objects {
			if o.ID.Name == "my-app" && o.ID.Kind == "Deployment" && (!o.Applied || o.HealthStatus().Code == health.Missing) {
				t.Errorf("what was just created is %s, applied: %v", o.HealthStatus(), o.Applied)
			}
		}
	case <-time.After(patience):
		t.Fatal("the Deployment is not created again")
	}
}

// recreated reads the report of an app when one of its objects was created again.
type recreated struct {
	controller.NoObserver
	w    *world
	seen chan<- report.Report
}

func (r *recreated) OnFinding(n report.FindingEvent) {
	if n.Carried && len(n.Finding.Path) == 0 {
		r.seen <- r.w.running.Engine.Report(n.App)
	}
}
