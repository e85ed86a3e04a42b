package configmap_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	testclock "k8s.io/utils/clock/testing"
)

// leader is a store that reads all records at once, and its clock.
func leader(t *testing.T, k *kubetest.Cluster) (*configmap.Store, func(time.Duration)) {
	s := store(t, k)
	now := testclock.NewFakePassiveClock(time.Now())
	s.Reading, s.Clock = configmap.All, now
	return s, func(d time.Duration) { now.SetTime(now.Now().Add(d)) }
}

func named(r inventory.Record, name string) inventory.Record {
	r.App.Name = name
	return r
}

func TestALeaderReadsAllRecordsAtOnce(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	writer := store(t, k)
	want := []inventory.Record{named(record(ns, 2), "a"), named(record(ns, 3), "b")}
	for _, r := range want {
		saved(t, writer, r)
	}
	s, _ := leader(t, k)
	before := len(k.Audit(t, func(e kubetest.Entry) bool { return e.Verb == "get" && e.Namespace == ns }))
	for range 3 {
		for _, r := range want {
			if diff := cmp.Diff(r, loaded(t, s, r.App), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.App, diff)
			}
		}
		if got := loaded(t, s, app.Key{Kind: "Kustomization", Namespace: ns, Name: "none"}); len(got.Entries) > 0 {
			t.Errorf("no record is %v", got)
		}
	}
	for i, r := range want { // what it writes, it knows
		want[i] = inventory.MergeEntries(r, record(ns, 1).Entries)
		saved(t, s, want[i])
		if diff := cmp.Diff(want[i], loaded(t, s, r.App), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after a save: %s (-want +got):\n%s", r.App, diff)
		}
	}
	if err := s.Delete(t.Context(), want[0].App); err != nil {
		t.Error(err)
	}
	if got := loaded(t, s, want[0].App); len(got.Entries) > 0 {
		t.Errorf("what was deleted is %v", got)
	}
	if n := len(k.Audit(t, func(e kubetest.Entry) bool { return e.Verb == "get" && e.Namespace == ns })) - before; n > 0 {
		t.Errorf("read %d records by themselves", n)
	}
}

func TestALeaderFindsOutInTimeThatARecordWasDamaged(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s, pass := leader(t, k)
	gone, changed, kept := named(record(ns, 1), "gone"), named(record(ns, 1), "changed"), named(record(ns, 1), "kept")
	for _, r := range []inventory.Record{gone, changed, kept} {
		loaded(t, s, r.App)
		saved(t, s, r)
	}
	k.Kubectl(t, "-n", ns, "delete", "configmap", "truce-inventory-kustomization-gone")
	k.Kubectl(t, "-n", ns, "patch", "configmap", "truce-inventory-kustomization-changed", "--type=merge", "-p", `{"data":{"inventory.json":"{"}}`)
	pass(time.Hour)
	loaded(t, s, kept.App) // lists again
	for _, r := range []inventory.Record{gone, changed} {
		if err := s.Save(t.Context(), r); !errors.Is(err, inventory.ErrChanged) && r.App == changed.App {
			t.Errorf("%s: %v", r.App, err)
		}
	}
	if got, err := s.Load(t.Context(), changed.App); err == nil {
		t.Errorf("what was damaged passes for %v", got)
	}
	if err := s.Save(t.Context(), inventory.MergeEntries(kept, record(ns, 2).Entries)); err != nil {
		t.Errorf("what nobody touched: %v", err)
	}
}

func TestWhatAnotherHasWrittenMeanwhileIsReadAnew(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	s, _ := leader(t, k)
	ours := named(record(ns, 1), "ours")
	loaded(t, s, ours.App)
	saved(t, s, ours)
	other := store(t, k)
	loaded(t, other, ours.App)
	theirs, further := inventory.MergeEntries(ours, record(ns, 2).Entries), named(record(ns, 3), "further")
	saved(t, other, theirs)
	saved(t, other, further)
	s.StartOver()
	for _, want := range []inventory.Record{theirs, further} {
		if diff := cmp.Diff(want, loaded(t, s, want.App), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.App, diff)
		}
	}
	if err := s.Delete(t.Context(), theirs.App); err != nil {
		t.Error(err)
	}
}
