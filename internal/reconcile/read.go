package reconcile

import (
	"context"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// minListed is how many objects of a kind are worth a list: fewer are read one by one.
const minListed = 4

// watchAndRead puts the wave's kinds under watch, and reads what the watches do not bring. The objects' first events enqueue nothing meanwhile:
// the run is about to reconcile them.
func (r *appRun) watchAndRead(ctx context.Context, wave []desired.Object) error {
	r.reserve(wave, true)
	err := r.watch(ctx, wave)
	if err == nil && r.app.Policy.Mode != policy.Observe && r.app.Account.IsSelf() {
		r.readMany(ctx, wave)
	}
	r.reserve(wave, false)
	for _, o := range wave {
		if err != nil && r.engine.isDue(o.ID) {
			r.engine.queue.Enqueue(o.ID)
		}
	}
	return err
}

// reserve has the objects of the wave of which nothing was judged yet wait for this run, or no longer.
func (r *appRun) reserve(wave []desired.Object, on bool) {
	for _, o := range wave {
		if rec := r.engine.lookup(o.ID); rec != nil && r.state.wanted[o.ID] {
			rec.mu.Lock()
			rec.reserved = on && !rec.baseline.Known()
			rec.mu.Unlock()
		}
	}
}

// readMany reads at once the objects of a wave of which only the metadata is known and all is needed: after a start that is all
// there are of the kinds that are watched so. What is only observed does not bear the mark by which it would be listed, and an account
// may not list all that it may read. What cannot be listed is read one by one, and each object reports what is wrong.
func (r *appRun) readMany(ctx context.Context, wave []desired.Object) {
	need := map[live.Interest]int{}
	for _, o := range wave {
		if rec := r.engine.lookup(o.ID); rec != nil && r.state.wanted[o.ID] && rec.needsRead() {
			need[r.sameKind(o)]++
		}
	}
	for i, n := range need {
		if n < minListed {
			continue
		}
		found, err := r.engine.Live.List(ctx, i)
		if err != nil {
			continue
		}
		for _, o := range found {
			if rec := r.engine.lookup(o.ID()); rec != nil {
				rec.onRead(live.Event{GVK: i.GVK, ID: rec.id, Object: o, Depth: live.Full})
			}
		}
	}
}

// sameKind is where the app's objects of the same kind are.
func (r *appRun) sameKind(o desired.Object) live.Interest {
	return live.Interest{GVK: o.GVK, Namespace: o.ID.Namespace, Selector: desired.PartOf + "=" + desired.PartOfValue(r.app.Key), Depth: live.Full}
}

// needsRead reports whether the object is there, and has to be read before it can be judged.
func (r *managedObject) needsRead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.baseline.Known() && r.pending != nil && !r.pending.Gone && r.pending.Depth == live.Metadata
}

// onRead replaces a pending event that shows less of the object and is not newer.
func (r *managedObject) onRead(ev live.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending
	if p == nil || p.Gone || p.Depth == live.Full || p.uid != ev.Object.UID() {
		return
	}
	if s := newPendingEvent(ev); s.version != 0 && s.version >= p.version {
		s.arrived = p.arrived
		r.pending = s
	}
}
