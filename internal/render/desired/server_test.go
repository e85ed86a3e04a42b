package desired_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// notPlain are the objects of which defaults hide that they are as desired: inside an atomic list, or in a list key that only
// the CRD's schema knows. A dry run must decide.
var notPlain = []string{
	"StatefulSet traps", "LimitRange traps", "NetworkPolicy traps", "RoleBinding traps",
}

func TestTheServerKeepsWhatWeSend(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	s := newServer(t, c)
	for _, file := range []string{"workloads", "config", "network", "custom"} {
		set, err := desired.Normalize(read(t, file), app.App{Key: app.Key{Kind: "Kustomization", Namespace: ns, Name: "traps"}, Namespace: ns}, s.scope)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range set.Objects {
			t.Run(file+"/"+o.GVK.Kind+" "+o.ID.Name, func(t *testing.T) { s.staysAsSent(t, o) })
		}
	}
}

// staysAsSent applies an object twice and compares it with what a GET returns.
func (s server) staysAsSent(t *testing.T, o desired.Object) {
	first := s.apply(t, o)
	if o.GVK.Kind == "CustomResourceDefinition" {
		first = s.established(t, o)
	}
	owners, err := ownership.Entries(first)
	if err != nil {
		t.Fatal(err)
	}
	hasher := ownership.NewHasher()
	live := s.get(t, o)
	liveOwners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	got, err := compare.CompareObject(compare.Input{
		Desired: o.Data, Live: live, Owners: liveOwners, Baseline: compare.NewBaseline(first, owners, hasher), Hasher: hasher,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Differences)+len(got.LostOwnership)+len(got.Released) > 0 {
		t.Errorf("the object differs from itself: %+v", got)
	}
	plain := !slices.Contains(notPlain, o.GVK.Kind+" "+o.ID.Name)
	if compare.MatchesDesired(o.Data, live, liveOwners) != plain {
		t.Errorf("plainly as desired: got %v, want %v", !plain, plain)
	}
	s.writesNothingMore(t, o)
}

// writesNothingMore applies the object again. A controller may write in between, but not every time.
func (s server) writesNothingMore(t *testing.T, o desired.Object) {
	t.Helper()
	var diff string
	for range 5 {
		before := s.get(t, o)
		again := s.apply(t, o)
		if again.ResourceVersion() == before.ResourceVersion() {
			return
		}
		diff = cmp.Diff(before, again)
	}
	t.Errorf("each apply writes something:\n%s", diff)
}

type server struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

func newServer(t *testing.T, c *kubetest.Cluster) server {
	t.Helper()
	dyn, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return server{dynamic: dyn, discovery: disco}
}

func (s server) resource(gvk object.GVK) (gvr schema.GroupVersionResource, namespaced, ok bool) {
	list, err := s.discovery.ServerResourcesForGroupVersion(gvk.APIVersion())
	if err != nil {
		return gvr, false, false
	}
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind })
	if i < 0 {
		return gvr, false, false
	}
	r := list.APIResources[i]
	return schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: r.Name}, r.Namespaced, true
}

func (s server) scope(gvk object.GVK) desired.Scope {
	switch _, namespaced, ok := s.resource(gvk); {
	case !ok:
		return desired.Unserved
	case namespaced:
		return desired.Namespaced
	}
	return desired.ClusterWide
}

func (s server) client(t *testing.T, o desired.Object) dynamic.ResourceInterface {
	t.Helper()
	gvr, namespaced, ok := s.resource(o.GVK)
	if !ok {
		t.Fatalf("%s is not served", o.GVK)
	}
	if namespaced {
		return s.dynamic.Resource(gvr).Namespace(o.ID.Namespace)
	}
	return s.dynamic.Resource(gvr)
}

func (s server) apply(t *testing.T, o desired.Object) object.Object {
	t.Helper()
	body, err := json.Marshal(o.Data)
	if err != nil {
		t.Fatal(err)
	}
	force := true
	u, err := s.client(t, o).Patch(t.Context(), o.ID.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: ownership.Manager, Force: &force, FieldValidation: "Strict"})
	if err != nil {
		t.Fatalf("apply %s: %v\n%s", o.ID, err, body)
	}
	return u.Object
}

func (s server) get(t *testing.T, o desired.Object) object.Object {
	t.Helper()
	u, err := s.client(t, o).Get(t.Context(), o.ID.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// established waits until the server serves the CRD's kind.
func (s server) established(t *testing.T, o desired.Object) object.Object {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		live := s.get(t, o)
		kind, _ := o.Data.At("spec", "names", "kind").(string)
		group, _ := o.Data.At("spec", "group").(string)
		if _, _, ok := s.resource(object.GVK{Group: group, Version: "v1", Kind: kind}); ok {
			return live
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s is not established", o.ID)
		}
	}
}

func read(t *testing.T, name string) []render.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "traps", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func parse(t *testing.T, text []byte) []render.Object {
	t.Helper()
	var out []render.Object
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var data map[string]any
		if err := utiljson.Unmarshal(raw, &data); err != nil {
			t.Fatal(err)
		}
		out = append(out, render.Object{Data: data, File: "traps.yaml"})
	}
}
