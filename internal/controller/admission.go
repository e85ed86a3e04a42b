package controller

import (
	"context"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// Configured knows the configuration of mutating admission, and can forget what it has read.
type Configured interface {
	reconcile.Admission
	Forget()
}

// admissionLaps are the pauses after which objects are compared once more when the configuration of admission has changed. The API server
// learns of it from watches of its own: webhooks within milliseconds, policies within a second or two, later on a busy machine, and nothing
// reports when. Each look costs one dry run for each object of which admission changes a field.
var admissionLaps = []time.Duration{
	100 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 5 * time.Second, 15 * time.Second, 40 * time.Second,
}

// admission is the watch of mutating admission. It begins with the first object of which admission changed a field: without one, nothing
// depends on it.
type admission struct {
	begin sync.Once

	mu   sync.Mutex
	laps int // looks since the newest change
}

// changed starts the looks from the beginning.
func (a *admission) changed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.laps = 0
}

// next returns the pause before the next look; 0 for none.
func (a *admission) next() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.laps == len(admissionLaps) {
		return 0
	}
	a.laps++
	return admissionLaps[a.laps-1]
}

// Mutators returns the webhooks and policies whose configuration matches an object.
func (t *target) Mutators(ctx context.Context, gvk object.GVK, o object.Object) ([]mutation.Mutator, error) {
	t.admission.begin.Do(t.watchAdmission)
	return t.configured.Mutators(ctx, gvk, o)
}

// watchAdmission compares objects again when the configuration of mutating admission changes. Without the right to watch it, they are compared
// at each full check and each requested sync.
func (t *target) watchAdmission() {
	watched := map[string]bool{}
	for _, gvk := range mutation.ConfigurationKinds() {
		if watched[gvk.Kind] || t.kinds.server.Served(gvk) != nil {
			continue
		}
		watched[gvk.Kind] = true
		t.watcher.Watch(t.kinds.ctx, live.Interest{GVK: gvk, Depth: live.Metadata}, func(live.Event) {
			t.configured.Forget()
			t.admission.changed()
			t.admissionWork.Add(mutation.Group)
		})
	}
}

// compareMutated compares the objects of which admission changed a field with what the server makes of them now.
func (t *target) compareMutated(context.Context, string) time.Duration {
	ids := t.engine.AdmissionChanged()
	for i, wait := range reserveDelays(t.groups.rate, time.Now(), len(ids)) {
		t.objects.AddAfter(ids[i], wait)
	}
	return t.admission.next()
}
