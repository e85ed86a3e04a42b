package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Value is an object as it once was.
type Value struct {
	// Event is watch.Added, Modified or Deleted. The value at the start of the watch is Added.
	Event watch.EventType
	// Object must not be changed. After Deleted it is the last state.
	Object *unstructured.Unstructured
	// At is when the watch received it.
	At time.Time
}

// Recorder keeps every value that an object ever had since the watch began. API servers send each version of an
// object, none is merged away.
type Recorder struct {
	t       *testing.T
	subject string
	now     func() (*unstructured.UnstructuredList, error) // the server's
	end     context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	values  []Value
	changed chan struct{} // closed and replaced with each value
}

// Watch begins to record the object of that name, whether it exists yet or not, until the test ends. Namespace is
// empty for a kind without.
func (c *Cluster) Watch(t *testing.T, kind schema.GroupVersionResource, namespace, name string) *Recorder {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	r := &Recorder{t: t, subject: fmt.Sprintf("%s %s/%s", kind.Resource, namespace, name), changed: make(chan struct{}), end: end, ended: make(chan struct{})}
	client := c.dynamic.Resource(kind).Namespace(namespace)
	only := fields.OneTermEqualSelector("metadata.name", name).String()
	r.now = func() (*unstructured.UnstructuredList, error) {
		return client.List(t.Context(), metav1.ListOptions{FieldSelector: only})
	}
	now, err := r.now()
	if err != nil {
		t.Fatalf("watch %s: %v", r.subject, err)
	}
	for i := range now.Items {
		r.add(watch.Added, &now.Items[i])
	}
	hour := int64(3600) // without it the server ends a watch after 30 to 60 minutes
	o := metav1.ListOptions{FieldSelector: only, ResourceVersion: now.GetResourceVersion(), TimeoutSeconds: &hour}
	events, err := client.Watch(ctx, o)
	if err != nil {
		t.Fatalf("watch %s: %v", r.subject, err)
	}
	go func() {
		defer close(r.ended)
		r.follow(ctx, client, events, o)
	}()
	t.Cleanup(r.End)
	return r
}

// End ends the recording before the test does.
func (r *Recorder) End() {
	r.end()
	<-r.ended
}

// follow records until the test ends. A server ends a watch when a CRD of the kind changes: it is begun again, and that no value was missed
// meanwhile is checked.
func (r *Recorder) follow(ctx context.Context, client dynamic.ResourceInterface, events watch.Interface, o metav1.ListOptions) {
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		r.record(ctx, events)
		for err := errEnded; err != nil; {
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
			events, err = r.resume(ctx, client, o)
		}
	}
}

var errEnded = errors.New("the watch has ended")

// resume watches from now on. A value of now that is not the last one that was recorded may have had others before it, which fails the
// test.
func (r *Recorder) resume(ctx context.Context, client dynamic.ResourceInterface, o metav1.ListOptions) (watch.Interface, error) {
	now, err := r.now()
	if err != nil {
		return nil, err
	}
	last := ""
	if v := r.recorded(); len(v) > 0 && v[len(v)-1].Event != watch.Deleted {
		last = v[len(v)-1].Object.GetResourceVersion()
	}
	newest := ""
	for i := range now.Items {
		newest = now.Items[i].GetResourceVersion()
		if newest != last {
			r.add(watch.Modified, &now.Items[i])
		}
	}
	if newest != last {
		r.t.Errorf("watch %s: the server has ended it, and values may be missing between versions %q and %q", r.subject, last, newest)
	}
	o.ResourceVersion = now.GetResourceVersion()
	return client.Watch(ctx, o)
}

// record adds the events until the watch ends.
func (r *Recorder) record(ctx context.Context, events watch.Interface) {
	stop := context.AfterFunc(ctx, events.Stop)
	defer stop()
	for e := range events.ResultChan() {
		if o, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Error {
			r.add(e.Type, o)
		} else if ctx.Err() == nil {
			r.t.Errorf("watch %s: %v", r.subject, e.Object)
		}
	}
}

func (r *Recorder) add(event watch.EventType, o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, Value{Event: event, Object: o, At: time.Now()})
	close(r.changed)
	r.changed = make(chan struct{})
}

// Values returns every value so far, oldest first: up to the one that the server has at the time of the call, which a watch shows later on
// a busy machine. The slice is the caller's.
func (r *Recorder) Values() []Value {
	now, err := r.now()
	if err != nil { // its kind is not served, or the test has ended: what was recorded is all
		return r.recorded()
	}
	late := time.After(time.Minute)
	for {
		r.mu.Lock()
		values, changed := r.values, r.changed
		r.mu.Unlock()
		if has(values, now) {
			return slices.Clone(values)
		}
		select {
		case <-changed:
		case <-late:
			r.t.Errorf("watch %s: the server has another value than those of the watch:\n%s", r.subject, history(values))
			return slices.Clone(values)
		}
	}
}

// Newest returns the object of the newest of Values, of which there is one.
func (r *Recorder) Newest() *unstructured.Unstructured {
	values := r.Values()
	return values[len(values)-1].Object
}

// has reports whether the values go as far as what the server has had, or further: the watch may outrun the list.
func has(values []Value, then *unstructured.UnstructuredList) bool {
	if len(values) == 0 {
		return len(then.Items) == 0
	}
	last := values[len(values)-1]
	if len(then.Items) == 0 {
		return last.Event == watch.Deleted || version(last.Object) > version(then)
	}
	return version(last.Object) >= version(&then.Items[0])
}

func version(o interface{ GetResourceVersion() string }) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// recorded returns what the watch has shown.
func (r *Recorder) recorded() []Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.values)
}

// Await returns as soon as the object exists and is as asked, now or later. When ctx ends first the test fails and
// shows what the object was.
func (r *Recorder) Await(ctx context.Context, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	r.t.Helper()
	return r.await(ctx, max(0, len(r.Values())-1), func(v Value) bool { return v.Event != watch.Deleted && is(v.Object) })
}

// AwaitInTurn returns when the object has been as asked in turn since it had that many values: for each question there is a value of its
// own, later than the one for the question before. When ctx ends first the test fails.
func (r *Recorder) AwaitInTurn(ctx context.Context, since int, is ...func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	r.t.Helper()
	answered := 0
	return r.await(ctx, since, func(v Value) bool {
		if v.Event != watch.Deleted && is[answered](v.Object) {
			answered++
		}
		return answered == len(is)
	})
}

// AwaitDeleted returns when the object, which has existed, has been deleted, though it may be there again by then. When ctx ends first the
// test fails.
func (r *Recorder) AwaitDeleted(ctx context.Context) {
	r.t.Helper()
	r.await(ctx, 0, func(v Value) bool { return v.Event == watch.Deleted })
}

// await looks at each value from the next one on, once, those that are still to come too.
func (r *Recorder) await(ctx context.Context, next int, is func(Value) bool) *unstructured.Unstructured {
	r.t.Helper()
	for {
		r.mu.Lock()
		values, changed := r.values, r.changed
		r.mu.Unlock()
		for ; next < len(values); next++ {
			if is(values[next]) {
				return values[next].Object
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.t.Fatalf("await %s: %v; its values so far:\n%s", r.subject, ctx.Err(), history(values))
		}
	}
}

// history lists the values one a line, without the managedFields, which are long.
func history(values []Value) string {
	if len(values) == 0 {
		return "  none: it does not exist"
	}
	var b strings.Builder
	for _, v := range values {
		o := v.Object.DeepCopy()
		o.SetManagedFields(nil)
		text, err := json.Marshal(o.Object)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&b, "  %s %s %s\n", v.At.Format("15:04:05.000"), v.Event, text)
	}
	return b.String()
}
