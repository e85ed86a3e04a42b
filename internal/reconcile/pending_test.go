package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// TestWhatWaitsForItsRunWaitsPacked is a start: the first list reports every object before any app has run.
func TestWhatWaitsForItsRunWaitsPacked(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}, Now: time.Now}, nil)
	o := definition("7", "True")
	o["spec"] = map[string]any{"replicas": int64(3), "ratio": 0.5, "text": "<a> & b", "none": nil, "list": []any{int64(1), "two", true}}
	want := live.Event{GVK: o.GVK(), ID: o.ID(), Object: o.Clone(), Depth: live.Full}
	r := &managedObject{id: want.ID}
	e.objects[r.id] = r
	e.OnEvent(live.Event{GVK: want.GVK, ID: want.ID, Object: o, Depth: live.Full})
	if r.pending == nil || r.pending.Object != nil || !r.pending.packed.Known() {
		t.Fatalf("what waits is %+v, want it packed", r.pending)
	}
	if r.pending.uid != o.UID() || r.pending.version != 7 {
		t.Errorf("it is known as %q at %d, want %q at 7", r.pending.uid, r.pending.version, o.UID())
	}
	came, err := r.takePending(&e.eventTexts)
	got := came.event
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	if again, err := r.takePending(&e.eventTexts); again.event != nil || err != nil {
		t.Errorf("taken twice: %v, %v", again, err)
	}
}

// TestARunLetsGoOfWhatItsRecordsHave is an app that waits: of its objects, the run needs no more than their names.
func TestARunLetsGoOfWhatItsRecordsHave(t *testing.T) {
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}, Now: time.Now}, nil)
	o := definition("", "True")
	r := e.begin(app.App{Key: app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}})
	r.set.Objects = []desired.Object{{ID: o.ID(), GVK: o.GVK(), Data: o}}
	if _, _, err := r.assignObjects(); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.set.Objects {
		if o.Data != nil {
			t.Errorf("%s is held as maps, besides its record", o.ID)
		}
	}
	if len(r.state.wanted) != 1 {
		t.Errorf("%d records, want 1", len(r.state.wanted))
	}
}
