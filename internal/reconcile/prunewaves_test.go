package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
)

// TestObjectsAreAwaitedUntilALimit: it counts from the last deletion, also by a process that has not seen that. What has gone meanwhile is forgotten.
func TestObjectsAreAwaitedUntilALimit(t *testing.T) {
	s, e := newShelf()
	began := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	now := began.Add(10 * time.Second)
	e.Now = func() time.Time { return now }
	saved := inventory.Record{}
	for name, deleted := range map[string]string{"before": "2025-12-31T10:00:00Z", "last": "2026-01-01T10:00:10Z"} {
		entry := s.put(name, nil)
		s.objects[entry.ID].Metadata()["deletionTimestamp"] = deleted
		saved.Entries = append(saved.Entries, entry)
	}
	saved.Entries = append(saved.Entries, s.put("gone", nil))
	await := func() (hooks.WaitErrors, string) {
		t.Helper()
		run := e.newPruneRun(pruned(), len(saved.Entries))
		run.order, run.limit = awaitAtEnd, waitLimit{since: began, timeout: time.Minute}
		err := run.execute(t.Context(), &saved, saved.Entries)
		var waits hooks.WaitErrors
		if err != nil && !errors.As(err, &waits) {
			t.Fatal(err)
		}
		return waits, run.late
	}
	waits, late := await()
	if len(waits) != 2 || late != "" || !waits.Until().Equal(began.Add(70*time.Second)) || len(saved.Entries) != 2 {
		t.Errorf("it waits for %v until %s, is late for %q, and the inventory has %v", waits, waits.Until(), late, saved.Entries)
	}
	now = began.Add(70 * time.Second)
	if waits, late = await(); len(waits) != 0 || late != "timeout waiting until ConfigMap shop/before is gone and 1 more" {
		t.Errorf("after the limit it waits for %v, and is late for %q", waits, late)
	}
}
