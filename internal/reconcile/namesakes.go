package reconcile

import (
	"fmt"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// Namesake is another app that asks for a release of the same name, stored in the same namespace of the same cluster.
type Namesake struct {
	Key       app.Key
	Known     map[int]string // as Known of its release
	GoesFirst bool           // it has the release where nothing is stored
}

// releaseHolders are the apps that wait for another one to give up a release. Waiting costs nothing: the end of each run of that one, and its end,
// enqueue them.
type releaseHolders struct {
	mu      sync.Mutex
	waiting map[app.Key][]app.Key // by the app that has the release
}

func (h *releaseHolders) await(holder, waiter app.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[app.Key][]app.Key{}
	}
	if !slices.Contains(h.waiting[holder], waiter) {
		h.waiting[holder] = append(h.waiting[holder], waiter)
	}
}

// take returns the apps that wait for one, which wait no longer.
func (h *releaseHolders) take(holder app.Key) []app.Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.waiting[holder]
	delete(h.waiting, holder)
	return out
}

// refuseHeld fails a run whose release is another app's: two that take turns with one release would upgrade it for each other without an end, and the
// end of one would uninstall what the other has installed.
func (r *appRun) refuseHeld() error {
	holder, held := r.holder()
	if !held {
		return nil
	}
	r.engine.holders.await(holder, r.app.Key)
	if now, _ := r.holder(); now != holder { // it has given the release up before it was known that this app waits
		r.engine.queue.EnqueueApp(r.app.Key)
	}
	spec := r.app.Release
	return &stageError{report.OwnedByOther, fmt.Errorf("release %s/%s, stored in namespace %s, is that of %s, which asks for it too: set another spec.releaseName or spec.storageNamespace in one of the two, or delete one",
		spec.Namespace, spec.Name, spec.Storage, holder)}
}

// holder returns the other app that has the release: the one for which it was stored, as the stored release says or else its custom resource; where
// nothing is stored, the one that goes first.
func (r *appRun) holder() (app.Key, bool) {
	if r.engine.Namesakes == nil {
		return app.Key{}, false
	}
	others := r.engine.Namesakes.OfRelease(r.app)
	if len(others) == 0 {
		return app.Key{}, false
	}
	if self := r.app.Key; len(r.chart.stored) > 0 && r.chart.stored[0].Status != hook.Uninstalled {
		if key, known := r.storedFor(append([]Namesake{{Key: self, Known: r.app.Release.Known}}, others...)); known {
			return key, key != self
		}
	}
	return firstOf(others, func(n Namesake) bool { return n.GoesFirst })
}

// storedFor returns for which of some apps the release was stored.
func (r *appRun) storedFor(all []Namesake) (app.Key, bool) {
	for _, s := range r.chart.stored { // the newest may be a person's
		if key, found := firstOf(all, func(n Namesake) bool { return n.Key.String() == s.Memory.App }); found {
			return key, true
		}
	}
	return firstOf(all, func(n Namesake) bool { return n.Known[r.chart.stored[0].Revision] != "" })
}

func firstOf(all []Namesake, is func(Namesake) bool) (app.Key, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i].Key, true
	}
	return app.Key{}, false
}
