package kubetest

import (
	"strconv"
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

// TestAWatchHasCaughtUpOrIsFurther is about an object at a version, 0 for none, in a list of a version.
func TestAWatchHasCaughtUpOrIsFurther(t *testing.T) {
	at := func(version int) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetResourceVersion(strconv.Itoa(version))
		return o
	}
	for _, c := range []struct {
		what   string
		values []Value
		object int
		want   bool
	}{
		{"nothing yet, and nothing there", nil, 0, true},
		{"nothing yet, and it is there", nil, 5, false},
		{"the very value", []Value{{Event: watch.Added, Object: at(5)}}, 5, true},
		{"an older value", []Value{{Event: watch.Added, Object: at(5)}}, 7, false},
		{"a newer value", []Value{{Event: watch.Added, Object: at(5)}, {Event: watch.Modified, Object: at(12)}}, 7, true},
		{"created since the list", []Value{{Event: watch.Added, Object: at(12)}}, 0, true},
		{"deleted before the list, which is not seen yet", []Value{{Event: watch.Added, Object: at(5)}}, 0, false},
		{"deleted, which is seen", []Value{{Event: watch.Added, Object: at(5)}, {Event: watch.Deleted, Object: at(7)}}, 0, true},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetResourceVersion("10")
		if c.object > 0 {
			list.Items = append(list.Items, *at(c.object))
		}
		if got := has(c.values, list); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}
