package stories

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	want := wantedParts(d.Values()[0].Object)
	for what, args := range edits {
		t.Run(what, func(t *testing.T) {
			seen := len(d.Values())
			w.kubectl(args...)
			w.await(d, func(o *unstructured.Unstructured) bool {
				return changedSince(d, seen, want) && cmp.Equal(want, wantedParts(o))
			})
		})
	}
}

func changedSince(d *kubetest.Recorder, seen int, want map[string]any) bool {
	for _, v := range d.Values()[seen:] {
		if !cmp.Equal(want, wantedParts(v.Object)) {
			return true
		}
	}
	return false
}

// wantedParts are the parts of a Deployment that Git names: all but what controllers write.
func wantedParts(o *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	team := o.GetAnnotations()["team"]
	return map[string]any{"spec": spec, "labels": o.GetLabels(), "team": team}
}

func TestADeletedObjectComesBack(t *testing.T) {
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	uid := d.Values()[0].Object.GetUID()
	w.kubectl("delete", "deployment/my-app", "--wait=false")
	w.await(d, func(o *unstructured.Unstructured) bool { return o.GetUID() != uid && replicas(o) == 3 })
}

func TestRemediationOffReportsAndWritesNothing(t *testing.T) {
	w := newWorld(t, app.Policy{}, document3)
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
	w := newWorld(t, app.Policy{}, document3)
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
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.kubectl("patch", "kustomization/my-app", "--type=merge", `-p={"spec":{"suspend":true}}`)
	w.condition("my-app", "Ready", func(_ map[string]any, o *unstructured.Unstructured) bool {
		suspend, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		return suspend
	})
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

func TestRemediationIntervalSpacesCorrections(t *testing.T) {
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: true, remediationInterval: 3s}")
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	for _, n := range []int64{5, 6} {
		seen := len(d.Values())
		w.kubectl("scale", "deployment/my-app", fmt.Sprintf("--replicas=%d", n))
		w.await(d, func(o *unstructured.Unstructured) bool {
			there := func(v kubetest.Value) bool { return replicas(v.Object) == n }
			return slices.ContainsFunc(d.Values()[seen:], there) && replicas(o) == 3
		})
	}
	var back []int64
	var gap int64
	for i, v := range d.Values() {
		if i > 0 && replicas(v.Object) == 3 && replicas(d.Values()[i-1].Object) != 3 {
			back = append(back, v.At.UnixMilli())
		}
	}
	if len(back) == 2 {
		gap = back[1] - back[0]
	}
	if len(back) != 2 || gap < 2900 {
		t.Errorf("%d corrections, %d ms apart, want 2 that are at least 3 s apart", len(back), gap)
	}
}
