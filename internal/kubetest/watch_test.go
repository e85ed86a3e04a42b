package kubetest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// TestAnOldValueIsNoAnswerToALaterEdit: an object that was right before an edit is right again only with a value after the edit's own.
func TestAnOldValueIsNoAnswerToALaterEdit(t *testing.T) {
	r := &Recorder{t: t, subject: "a made-up object", changed: make(chan struct{})}
	had := func(event watch.EventType, replicas int64) {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
		r.add(event, o)
	}
	is := func(n int64) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return number(o, "spec", "replicas") == n }
	}
	for _, n := range []int64{5, 3, 3, 5} {
		had(watch.Modified, n)
	}
	had(watch.Deleted, 3)
	for _, n := range []int64{5, 3, 4} {
		had(watch.Modified, n)
	}
	for since, want := range map[int]int{0: 1, 1: 6, 2: 6, 4: 6} {
		if got := r.AwaitInTurn(t.Context(), since, is(5), is(3)); got != r.recorded()[want].Object {
			t.Errorf("since %d: not the value %d: %v", since, want, got.Object)
		}
	}
	go had(watch.Modified, 3)
	if got := r.AwaitInTurn(t.Context(), 7, is(4), is(3)); got != r.recorded()[8].Object {
		t.Errorf("not the value that comes meanwhile: %v", got.Object)
	}
}
