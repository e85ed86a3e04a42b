package list_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

var configMaps = object.GVK{Version: "v1", Kind: "ConfigMap"}

func reader(t *testing.T) (*kubetest.Cluster, list.Reader) {
	t.Helper()
	k := kubetest.Start(t)
	c, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	return k, list.Reader{Cluster: c}
}

func TestOnlyAnAbsentObjectIsNotFound(t *testing.T) {
	k, r := reader(t)
	ns := k.Namespace(t)
	k.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "+ns+"}, data: {k: v}}")
	id := object.ID{Kind: "ConfigMap", Namespace: ns, Name: "a"}
	o, err := r.Get(t.Context(), configMaps, id)
	if err != nil || o.At("data", "k") != "v" || o.ID() != id {
		t.Fatalf("get: %v, %v", o, err)
	}
	for name, c := range map[string]struct {
		gvk  object.GVK
		id   object.ID
		want error
	}{
		"absent object":    {configMaps, object.ID{Kind: "ConfigMap", Namespace: ns, Name: "b"}, live.ErrNotFound},
		"absent namespace": {configMaps, object.ID{Kind: "ConfigMap", Namespace: "nowhere", Name: "b"}, live.ErrNotFound},
		"no namespace":     {configMaps, object.ID{Kind: "ConfigMap", Name: "a"}, nil},
		"no name":          {configMaps, object.ID{Kind: "ConfigMap", Namespace: ns}, nil},
		"unknown kind":     {object.GVK{Version: "v1", Kind: "Gadget"}, object.ID{Kind: "Gadget", Namespace: ns, Name: "a"}, live.ErrUnknownKind},
		"unknown group":    {object.GVK{Group: "no.example", Version: "v1", Kind: "Gadget"}, object.ID{Namespace: ns, Name: "a"}, live.ErrUnknownKind},
		"impossible group": {object.GVK{Group: "../..", Version: "v1", Kind: "Gadget"}, object.ID{Namespace: ns, Name: "a"}, live.ErrUnknownKind},
	} {
		_, err := r.Get(t.Context(), c.gvk, c.id)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && errors.Is(err, live.ErrNotFound) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.list.example.org}
spec:
  group: list.example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// TestAKindThatHasLeftIsNoAbsentObject: also while discovery, which a server brings up to date on its own, still has it.
func TestAKindThatHasLeftIsNoAbsentObject(t *testing.T) {
	k := kubetest.Start(t)
	behind := &behind{path: "/apis/list.example.org/v1"}
	config := k.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { behind.next = next; return behind })
	c, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	r := list.Reader{Cluster: c}
	ns := k.Namespace(t)
	k.Apply(t, crd)
	k.Established(t, "widgets.list.example.org")
	gvk := object.GVK{Group: "list.example.org", Version: "v1", Kind: "Widget"}
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: ns, Name: "a"}
	if _, err := r.Get(t.Context(), gvk, id); !errors.Is(err, live.ErrNotFound) {
		t.Fatalf("before: %v", err)
	}
	k.Kubectl(t, "delete", "crd", "widgets.list.example.org")
	behind.more.Store(3)
	err = live.ErrNotFound
	for errors.Is(err, live.ErrNotFound) { // the kind itself is served for a moment more, too
		_, err = r.Get(t.Context(), gvk, id)
	}
	if !errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("the kind has left, and the error is %v", err)
	}
	if left := behind.more.Load(); left > 0 {
		t.Errorf("%d old answers of discovery were not asked for", left)
	}
}

// behind gives the answer that it had for a path some times more.
type behind struct {
	next http.RoundTripper
	path string
	more atomic.Int32

	mu     sync.Mutex
	header http.Header
	body   []byte
}

func (b *behind) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Path != b.path {
		return b.next.RoundTrip(q)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more.Load() > 0 {
		b.more.Add(-1)
		return &http.Response{StatusCode: http.StatusOK, Header: b.header.Clone(), Body: io.NopCloser(bytes.NewReader(b.body)), Request: q}, nil
	}
	answer, err := b.next.RoundTrip(q)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	b.header = answer.Header
	b.body, err = io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(b.body))
	return answer, err
}

func TestAListOfManyPagesIsWhole(t *testing.T) {
	const many = 1203
	k, r := reader(t)
	ns := k.Namespace(t)
	var text strings.Builder
	for i := range many {
		fmt.Fprintf(&text, "{apiVersion: v1, kind: ConfigMap, metadata: {name: m-%04d, namespace: %s, labels: {many: 'yes'}}}\n---\n", i, ns)
	}
	k.Apply(t, text.String())
	all, err := r.List(t.Context(), live.Interest{GVK: configMaps, Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, o := range all {
		if o["kind"] != "ConfigMap" || o.APIVersion() != "v1" {
			t.Fatalf("an item without its kind: %v", o)
		}
		names[o.Name()] = true
	}
	delete(names, "kube-root-ca.crt")
	if len(names) != many {
		t.Errorf("got %d, want %d", len(names), many)
	}
	heads := map[live.Head]bool{}
	if err := r.Heads(t.Context(), live.Interest{GVK: configMaps, Selector: "many"}, func(h live.Head) { heads[h] = true }); err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		want := live.Head{ID: o.ID(), UID: o.UID(), ResourceVersion: o.ResourceVersion()}
		if names[o.Name()] && !heads[want] {
			t.Errorf("no head %v", want)
		}
	}
	if len(heads) != many {
		t.Errorf("got %d heads, want %d", len(heads), many)
	}
}
