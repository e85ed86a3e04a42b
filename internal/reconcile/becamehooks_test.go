package reconcile

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// TestNoHookHasTheFirstRunAfterARestorePrune: what the next run deletes is named, also where the object that a hook takes the place of is gone already, and
// where a run ended while it waited for the hook.
func TestNoHookHasTheFirstRunAfterARestorePrune(t *testing.T) {
	for what, c := range map[string]struct{ isThere, waited bool }{
		"the former object is gone":                 {},
		"the former object is there":                {isThere: true},
		"the former object is gone, after the hook": {waited: true},
	} {
		s, e := newShelf()
		left, former := s.put("left", nil), s.put("migrate", nil)
		run := hooks.Runner{Hooks: []hook.Hook{{Object: s.objects[former.ID].Clone()}}, Namespace: "shop"}
		if !c.isThere {
			delete(s.objects, former.ID)
		}
		a := pruned()
		state := e.state(a.Key)
		state.era = 1
		begin := func() *appRun {
			return &appRun{engine: e, state: state, app: a, asked: a, dataEra: 1, inventory: inventory.Record{App: a.Key, Entries: []inventory.Entry{left, former}}}
		}
		if c.waited { // it comes to no other prune
			if err := begin().pruneFormerObjects(t.Context(), run, map[int]hook.Run{}); err != nil {
				t.Errorf("%s: the first run: %v", what, err)
			}
		}
		r := begin()
		err := r.pruneFormerObjects(t.Context(), run, map[int]hook.Run{})
		if err == nil {
			err = r.pruneUnnamed(t.Context())
		}
		if reasonOf(err) != report.PruneHeld || !strings.Contains(err.Error(), left.ID.String()) || strings.Contains(err.Error(), former.ID.String()) != c.isThere {
			t.Errorf("%s: %v", what, err)
		}
		if len(s.deleted) > 0 {
			t.Errorf("%s: deleted %v", what, s.deleted)
		}
		if begin().firstOfEra() {
			t.Errorf("%s: the run after the one that says what is deleted says it again", what)
		}
	}
}
