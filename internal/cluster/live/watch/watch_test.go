package watch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

var (
	configMaps  = object.GVK{Version: "v1", Kind: "ConfigMap"}
	secrets     = object.GVK{Version: "v1", Kind: "Secret"}
	deployments = object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// seen gathers the events of a watch.
type seen struct {
	t    *testing.T
	ns   string
	mu   sync.Mutex
	all  []live.Event
	news chan struct{}
}

// follow starts a watch, and keeps its events of one namespace.
func follow(t *testing.T, c *cluster.Client, ns string, i live.Interest) (*seen, live.Watch) {
	s := &seen{t: t, ns: ns, news: make(chan struct{}, 1)}
	return s, watch.Watcher{Cluster: c}.Watch(t.Context(), i, s.add)
}

func (s *seen) add(ev live.Event) {
	if s.ns != "" && ev.ID.Namespace != s.ns {
		return
	}
	s.mu.Lock()
	s.all = append(s.all, ev)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *seen) events() []live.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]live.Event(nil), s.all...)
}

// await returns the first event that is as wanted.
func (s *seen) await(is func(live.Event) bool) live.Event {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		for _, ev := range s.events() {
			if is(ev) {
				return ev
			}
		}
		select {
		case <-s.news:
		case <-deadline:
			s.t.Fatalf("no such event among:\n%s", strings.Join(story(s.events()), "\n"))
		}
	}
}

func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// story prints events as "+ name" and "- name".
func story(events []live.Event) []string {
	var out []string
	for _, ev := range events {
		mark := "+ "
		if ev.Gone {
			mark = "- "
		}
		out = append(out, mark+ev.ID.Name)
	}
	return out
}

func gone(name string) func(live.Event) bool {
	return func(ev live.Event) bool { return ev.Gone && ev.ID.Name == name }
}

func here(name string) func(live.Event) bool {
	return func(ev live.Event) bool { return !ev.Gone && ev.ID.Name == name }
}

func synced(t *testing.T, w live.Watch) {
	t.Helper()
	select {
	case <-w.Synced():
	case <-time.After(time.Minute):
		t.Fatalf("not synced: %v", w.Err())
	}
}

func connect(t *testing.T, k *kubetest.Cluster) *cluster.Client {
	t.Helper()
	c, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func configMap(ns, name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, labels: {ours: 'yes'}}, data: {k: %s}}", name, ns, value)
}

func TestEveryChangeIsToldInOrder(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	k.Apply(t, configMap(ns, "a", "x"))
	for _, depth := range []live.Depth{live.Full, live.Metadata} {
		s, w := follow(t, connect(t, k), ns, live.Interest{GVK: configMaps, Selector: "ours", Depth: depth})
		synced(t, w)
		k.Apply(t, configMap(ns, "b", "x"))
		k.Apply(t, configMap(ns, "b", "z"))
		k.Kubectl(t, "-n", ns, "delete", "configmap", "b")
		last := s.await(gone("b"))
		if diff := cmp.Diff([]string{"+ a", "+ b", "+ b", "- b"}, story(s.events())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", depth, diff)
		}
		if last.Object.UID() == "" || last.Object.ResourceVersion() == "" || last.Object["kind"] != "ConfigMap" {
			t.Errorf("%s: the last state is not told: %v", depth, last.Object)
		}
		if _, has := last.Object["data"]; has != (depth == live.Full) {
			t.Errorf("%s: data there: %v", depth, has)
		}
		if w.Err() != nil {
			t.Errorf("%s: error %v of a healthy watch", depth, w.Err())
		}
	}
}

func TestALabelThatIsRemovedLooksGone(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s, w := follow(t, connect(t, k), ns, live.Interest{GVK: configMaps, Selector: "ours", Depth: live.Metadata})
	synced(t, w)
	k.Apply(t, configMap(ns, "a", "x"))
	s.await(here("a"))
	k.Kubectl(t, "-n", ns, "label", "configmap", "a", "ours-")
	s.await(gone("a"))
}

func TestNoDataOfASecretArrives(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	k.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: "+ns+"}, stringData: {password: hunter2}}")
	s, w := follow(t, connect(t, k), ns, live.Interest{GVK: secrets, Depth: live.DepthOf(secrets)})
	synced(t, w)
	if o := s.await(here("a")).Object; strings.Contains(fmt.Sprint(map[string]any(o)), "hunter2") || o["data"] != nil {
		t.Errorf("the secret's data arrived: %v", o)
	}
}

func TestWhatHappenedWhileTheWireWasCutIsTold(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	p, c := newProxy(t, k.Config())
	for _, name := range []string{"stays", "changes", "goes", "returns"} {
		k.Apply(t, configMap(ns, name, "x"))
	}
	s, w := follow(t, c, ns, live.Interest{GVK: configMaps, Selector: "ours", Depth: live.Metadata})
	synced(t, w)
	before := s.await(here("returns")).Object.UID()

	p.cut()
	s.forget()
	k.Apply(t, configMap(ns, "changes", "z"))
	k.Apply(t, configMap(ns, "comes", "x"))
	k.Kubectl(t, "-n", ns, "delete", "configmap", "goes", "returns")
	k.Apply(t, configMap(ns, "returns", "x"))
	until(t, "the watch knows that it is cut", func() bool { return w.Err() != nil })
	p.mend()

	s.await(here("comes"))
	s.await(here("changes"))
	s.await(gone("goes"))
	if was := s.await(gone("returns")).Object.UID(); was != before {
		t.Errorf("gone is %s, want the old one, %s", was, before)
	}
	if is := s.await(here("returns")).Object.UID(); is == before {
		t.Error("the one that was made again is not told")
	}
	until(t, "the watch is well again", func() bool { return w.Err() == nil })
}

func TestAConnectionThatAlwaysEndsIsAnError(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	p, c := newProxy(t, k.Config())
	s, w := follow(t, c, ns, live.Interest{GVK: configMaps, Selector: "ours", Depth: live.Full})
	synced(t, w)
	failed := w.Failed()
	p.refuse()
	within(t, failed) // client-go tries ten times, a second apart
	if w.Err() == nil {
		t.Error("a watch that has failed says no error")
	}
	k.Apply(t, configMap(ns, "comes", "x"))
	p.mend()
	s.await(here("comes"))
	until(t, "the watch is well again", func() bool { return w.Err() == nil })
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.watch.example.org}
spec:
  group: watch.example.org
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND, listKind: KINDList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestAKindThatComesAndGoesIsFollowed(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	gvk := object.GVK{Group: "watch.example.org", Version: "v1", Kind: "Widget"}
	s, w := follow(t, connect(t, k), ns, live.Interest{GVK: gvk, Depth: live.Full})
	until(t, "the kind is not served", func() bool { return errors.Is(w.Err(), live.ErrUnknownKind) })
	text := strings.NewReplacer("PLURAL", "widgets", "SINGULAR", "widget", "KIND", "Widget").Replace(crd)
	k.Apply(t, text)
	k.Established(t, "widgets.watch.example.org")
	synced(t, w)
	k.Apply(t, "{apiVersion: watch.example.org/v1, kind: Widget, metadata: {name: a, namespace: "+ns+"}, spec: {whole: 1, half: 1.5}}")
	o := s.await(here("a")).Object
	if diff := cmp.Diff(map[string]any{"whole": int64(1), "half": 1.5}, o["spec"]); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	k.Kubectl(t, "delete", "crd", "widgets.watch.example.org")
	s.await(gone("a"))
	until(t, "the kind is not served", func() bool { return errors.Is(w.Err(), live.ErrUnknownKind) })
}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS, labels: {a: b}, annotations: {c: d}}
spec:
  paused: true # or a controller would annotate it
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: "registry.example/web:1"
        args: [a, b]
        ports: [{containerPort: 80}]
        resources: {requests: {cpu: 1000m}}
        env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
`

func TestAllReadsOfAnObjectHaveOneFingerprint(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	h := ownership.NewHasher()
	c := connect(t, k)
	text := strings.ReplaceAll(web, "NS", ns) + "\n---\n" + configMap(ns, "web", "x")
	for i, answer := range k.ApplyAs(t, ownership.Manager, text) {
		gvk := []object.GVK{deployments, configMaps}[i]
		want := unchanged.Fingerprint(h, object.Object(answer.Object))
		version := answer.GetResourceVersion()
		for _, depth := range []live.Depth{live.Full, live.Metadata} {
			s, _ := follow(t, c, ns, live.Interest{GVK: gvk, Depth: depth})
			ev := s.await(here("web"))
			if unchanged.Fingerprint(h, ev.Object) != want {
				t.Errorf("%s %s at version %s (applied: %s): another fingerprint than the answer to the apply", depth, gvk, ev.Object.ResourceVersion(), version)
			}
		}
		got, err := list.Reader{Cluster: c}.Get(t.Context(), gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: ns, Name: "web"})
		if err != nil || unchanged.Fingerprint(h, got) != want {
			t.Errorf("get %s: another fingerprint, error %v", gvk, err)
		}
	}
}

func TestAWatchOfManyKeepsLittle(t *testing.T) {
	const many, most = 2000, 600 // bytes for each: the names, the uid and the map
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	var text strings.Builder
	for i := range many {
		fmt.Fprintf(&text, "%s\n---\n", configMap(ns, fmt.Sprintf("many-%04d", i), strings.Repeat("x", 1000)))
	}
	k.Apply(t, text.String())
	c := connect(t, k)
	var n int
	before := heap()
	w := watch.Watcher{Cluster: c}.Watch(t.Context(), live.Interest{GVK: configMaps, Selector: "ours", Depth: live.Metadata}, func(live.Event) { n++ })
	synced(t, w)
	each := (heap() - before) / many
	t.Logf("%d events, %d bytes for each", n, each)
	if n < many || each > most {
		t.Errorf("%d events, %d bytes for each; want at least %d, and at most %d", n, each, many, most)
	}
	runtime.KeepAlive(w)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	k := kubetest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	w := watch.Watcher{Cluster: connect(t, k)}.Watch(ctx, live.Interest{GVK: configMaps, Depth: live.Metadata}, func(live.Event) {})
	synced(t, w)
	cancel()
	until(t, "the watch's goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+4 }) // the shared connection may stay
}

// until looks every few milliseconds.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
