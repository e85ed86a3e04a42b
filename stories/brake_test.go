package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const parentAndChild = `
-- parent/child.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: child, namespace: NAMESPACE}
spec:
  interval: 1h
  path: ./child
  prune: true
  sourceRef: {kind: GitRepository, name: repo}
-- child/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE}
data: {k: one}
`

// TestASuspendByHandHolds: a person suspends an app that another app keeps in Git. It stays suspended, through a full check and a new commit, until the
// person or Git says otherwise.
func TestASuspendByHandHolds(t *testing.T) {
	w := newWorld(t, policy.Policy{Additions: policy.AdditionsCorrect}, parentAndChild)
	w.app("parent", "./parent", defaultSpec)
	w.ready("parent")
	w.ready("child")
	child := w.Watch(t, kustomizations, w.ns, "child")
	suspended := func(o *unstructured.Unstructured) bool {
		on, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		return on
	}
	w.kubectl("patch", "kustomization/child", "--type=merge", `-p={"spec":{"suspend":true}}`)
	w.await(child, suspended)
	since := len(child.Values())
	w.finds(appKeyOf("Kustomization", w.ns, "parent"), ".spec.suspend", func(f report.Finding) bool {
		return f.Verdict == decide.Hold && f.PausedBy == "kubectl-patch" && !f.Writer.Time.IsZero()
	})
	w.readyTells("parent", "Kustomization "+w.ns+"/child .spec.suspend (paused by kubectl-patch)", true)
	w.edit("parent/child.yaml", "interval: 1h", "interval: 2h")
	w.await(child, func(o *unstructured.Unstructured) bool {
		every, _, _ := unstructured.NestedString(o.Object, "spec", "interval")
		return every == "2h"
	})
	w.edit("child/a.yaml", "k: one", "k: two")
	w.check("parent")
	w.always(child, since, suspended)
	if o := w.get(configmaps, "a"); value(o, "k") != "one" {
		t.Errorf("a suspended app was applied: %v", o.Object["data"])
	}
	w.saysOf(w.truce(), 0, "app get parent", "suspended by kubectl-patch", ".spec.suspend is set, and Git does not name it")

	w.kubectl("patch", "kustomization/child", "--type=json", `-p=[{"op":"remove","path":"/spec/suspend"}]`)
	w.ready("child")
	if o := w.get(configmaps, "a"); value(o, "k") != "two" {
		t.Errorf("the app was not applied after the pause: %v", o.Object["data"])
	}

	w.kubectl("patch", "kustomization/child", "--type=merge", `-p={"spec":{"suspend":true}}`)
	w.await(child, suspended)
	w.edit("parent/child.yaml", "interval: 2h", "suspend: false\n  interval: 2h") // Git names it itself
	w.await(child, func(o *unstructured.Unstructured) bool { return !suspended(o) })
	w.ready("parent")
}
