package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// said has each object's health in its annotations.
type said struct{}

func (said) Assess(o object.Object) health.Status {
	code, _ := o.Annotation("code")
	message, _ := o.Annotation("message")
	return health.Status{Code: health.Code(code), Message: message}
}

func saying(code health.Code, message string) object.Object {
	return object.Object{"metadata": map[string]any{"annotations": map[string]any{"code": string(code), "message": message}}}
}

func TestPodsAreReadOnlyForWhatDoesNotWork(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := NewEngine(Dependencies{Health: map[health.Rules]health.Assessor{health.Serving: said{}}, Now: func() time.Time { return now }}, nil)
	var asked []time.Duration
	e.queue = queueFuncs{pods: func(_ object.ID, at time.Time) { asked = append(asked, at.Sub(now)) }}
	r := newManagedObject(object.ID{Kind: "Deployment", Name: "web"}, app.Key{Name: "web"}, fight.Memory{})
	r.assessBy(e, rules{by: health.Serving})
	for _, step := range []struct {
		name    string
		o       object.Object
		changed bool
		asked   []time.Duration
	}{
		{"it works", saying(health.Healthy, ""), true, nil},
		{"it rolls out", saying(health.Progressing, "0 of 2"), true, []time.Duration{podsOfProgressing}},
		{"nothing has changed", saying(health.Progressing, "0 of 2"), false, nil},
		{"it goes on", saying(health.Progressing, "1 of 2"), true, []time.Duration{podsOfProgressing}},
		{"it is given up", saying(health.Degraded, "too late"), true, []time.Duration{podsOfDegraded}},
		{"it is suspended", saying(health.Suspended, "paused"), true, nil},
	} {
		asked = nil
		if changed := r.keepHealth(e, step.o); changed != step.changed {
			t.Errorf("%s: changed = %v, want %v", step.name, changed, step.changed)
		}
		if diff := cmp.Diff(step.asked, asked); diff != "" {
			t.Errorf("%s: when pods are to be read (-want +got):\n%s", step.name, diff)
		}
	}
	if r.podReport != nil {
		t.Errorf("of a workload that does not fail, %+v is kept", r.podReport)
	}
}

func TestACauseStaysUntilTheWorkloadWorks(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := NewEngine(Dependencies{Health: map[health.Rules]health.Assessor{health.Reconciled: said{}}, Now: func() time.Time { return now }}, nil)
	r := newManagedObject(object.ID{Kind: "Deployment", Name: "web"}, app.Key{Name: "web"}, fight.Memory{})
	r.keepHealth(e, saying(health.Degraded, "too late"))
	if !r.keepCause("CrashLoopBackOff") || r.keepCause("CrashLoopBackOff") {
		t.Error("a new cause must be news, and the same one none")
	}
	var pauses []time.Duration
	for again := r.nextRead(now); !again.IsZero(); again = r.nextRead(now) {
		pauses = append(pauses, again.Sub(now))
	}
	if diff := cmp.Diff(podPauses, pauses); diff != "" {
		t.Errorf("pauses between the reads (-want +got):\n%s", diff)
	}
	r.keepHealth(e, saying(health.Degraded, "later still"))
	want := health.Status{Code: health.Degraded, Message: "CrashLoopBackOff; later still", Cause: "CrashLoopBackOff"}
	if diff := cmp.Diff(want, r.currentHealth()); diff != "" {
		t.Errorf("a degraded workload (-want +got):\n%s", diff)
	}
	if r.nextRead(now).IsZero() {
		t.Error("pods are not read again although the workload's health has changed")
	}
	r.keepHealth(e, saying(health.Healthy, ""))
	if diff := cmp.Diff(health.Status{Code: health.Healthy}, r.currentHealth()); diff != "" {
		t.Errorf("a workload that works (-want +got):\n%s", diff)
	}
}
