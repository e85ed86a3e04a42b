package configmap_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const cm = "truce-inventory-kustomization-shop"

func store(t *testing.T, k *kubetest.Cluster) *configmap.Store {
	t.Helper()
	c, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &configmap.Store{Cluster: c}
}

// record has n entries.
func record(ns string, n int) inventory.Record {
	r := inventory.Record{App: app.Key{Kind: "Kustomization", Namespace: ns, Name: "shop"}, AppUID: "u", Revision: "main@sha1:abc"}
	var all []inventory.Entry
	for i := range n {
		all = append(all, inventory.Entry{
			ID:      object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("web-%06d-%x", i, rand.Uint64())},
			Version: "v1", UID: fmt.Sprintf("%x", rand.Uint64()), Sent: fmt.Sprintf("%x", rand.Uint64()),
		})
	}
	return inventory.MergeEntries(r, all)
}

func saved(t *testing.T, s *configmap.Store, r inventory.Record) {
	t.Helper()
	if err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func loaded(t *testing.T, s *configmap.Store, key app.Key) inventory.Record {
	t.Helper()
	r, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARecordOfAnySizeIsKept(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s := store(t, k)
	key := record(ns, 0).App
	if got := loaded(t, s, key); len(got.Entries) > 0 || got.App != key {
		t.Fatalf("no record is %v", got)
	}
	for _, n := range []int{1, 3000, 2, 0} { // plain, compressed, plain again
		want := record(ns, n)
		saved(t, s, want)
		if diff := cmp.Diff(want, loaded(t, store(t, k), key), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d entries (-want +got):\n%s", n, diff)
		}
	}
	all, err := s.All(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("all: %v, %v", all, err)
	}
	err = s.Save(t.Context(), record(ns, 40000))
	if err == nil || !strings.Contains(err.Error(), "a ConfigMap holds 1048576") {
		t.Errorf("a record that is too large: %v", err)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Error(err)
	}
}

func TestASaveIsOneWriteAndOnlyWhereSomethingChanged(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s := store(t, k)
	r := record(ns, 3)
	loaded(t, s, r.App)
	saved(t, s, r)
	saved(t, s, r)
	again := store(t, k) // after a restart
	saved(t, again, loaded(t, again, r.App))
	r.Revision = "main@sha1:def"
	saved(t, s, r)
	var got []string
	for _, e := range k.Audit(t, func(e kubetest.Entry) bool { return e.Namespace == ns && e.Name == cm && e.Writes() }) {
		got = append(got, e.Verb)
	}
	if diff := cmp.Diff([]string{"create", "patch"}, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestNobodyElsesChangeIsWrittenOver(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s, other := store(t, k), store(t, k)
	r := record(ns, 1)
	saved(t, s, r)
	if err := other.Save(t.Context(), record(ns, 2)); !errors.Is(err, inventory.ErrChanged) {
		t.Errorf("a save without a load: %v", err)
	}
	saved(t, other, inventory.MergeEntries(loaded(t, other, r.App), record(ns, 2).Entries))
	for range 2 { // also the second time: only Load leads on
		if err := s.Save(t.Context(), record(ns, 3)); !errors.Is(err, inventory.ErrChanged) {
			t.Errorf("a save over another one: %v", err)
		}
	}
	if n := len(loaded(t, s, r.App).Entries); n != 3 {
		t.Errorf("%d entries are left, want 3", n)
	}
	k.Kubectl(t, "-n", ns, "label", "configmap", cm, "team=shop")
	saved(t, s, inventory.MergeEntries(loaded(t, s, r.App), record(ns, 1).Entries))
	if got := k.Kubectl(t, "-n", ns, "get", "configmap", cm, "-o", "jsonpath={.metadata.labels.team}"); got != "shop" {
		t.Errorf("somebody's label is %q", got)
	}
	k.Kubectl(t, "-n", ns, "delete", "configmap", cm)
	if err := s.Save(t.Context(), record(ns, 3)); !errors.Is(err, inventory.ErrChanged) {
		t.Errorf("a save of what somebody deleted: %v", err)
	}
}

func TestADamagedRecordIsAnError(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s := store(t, k)
	r := record(ns, 1)
	saved(t, s, r)
	for name, patch := range map[string]string{
		"cut off":    `{"data":{"inventory.json":"{\"format\":1"}}`,
		"empty":      `{"data":{"inventory.json":null}}`,
		"no gzip":    `{"data":{"inventory.json":null},"binaryData":{"inventory.json.gz":"eHl6"}}`,
		"both forms": `{"data":{"inventory.json":"x"},"binaryData":{"inventory.json.gz":"eHl6"}}`,
		"another's":  `{"binaryData":null,"data":{"inventory.json":"{\"format\":1,\"kind\":\"Kustomization\",\"name\":\"x\",\"namespace\":\"y\",\"entries\":[]}"}}`,
	} {
		k.Kubectl(t, "-n", ns, "patch", "configmap", cm, "--type=merge", "-p", patch)
		whole := store(t, k)
		whole.Reading = configmap.All
		for _, s := range []*configmap.Store{s, whole} {
			if got, err := s.Load(t.Context(), r.App); err == nil {
				t.Errorf("%s: passes for %v", name, got)
			}
		}
	}
}

func TestALongNameIsStillAName(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s := store(t, k)
	r := record(ns, 1)
	r.App.Name = strings.Repeat("a", 219) + "." + strings.Repeat("b", 33)
	saved(t, s, r)
	if got := loaded(t, store(t, k), r.App); len(got.Entries) != 1 {
		t.Errorf("got %v", got)
	}
	k.Kubectl(t, "-n", ns, "delete", "configmap", "-l", configmap.Label)
}
