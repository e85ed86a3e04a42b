package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source"
)

// shelf holds objects. One that is to change does so between the read and the first try to delete it.
type shelf struct {
	live.Reader
	apply.Writer
	objects map[object.ID]object.Object
	changes map[object.ID]map[string]any // annotations that come
	broken  map[object.ID]error          // of reads
	deleted []string
}

func (s *shelf) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	if err := s.broken[id]; err != nil {
		return nil, err
	}
	if o, there := s.objects[id]; there {
		return o.Clone(), nil
	}
	return nil, live.ErrNotFound
}

func (s *shelf) Delete(_ context.Context, t apply.Target) error {
	if annotations := s.changes[t.ID]; annotations != nil {
		delete(s.changes, t.ID)
		s.objects[t.ID].Metadata()["annotations"] = annotations
		return apply.ErrStale
	}
	delete(s.objects, t.ID)
	s.deleted = append(s.deleted, t.ID.Name)
	return nil
}

const prunedApp = "web"

// put adds a ConfigMap of the app, and returns its entry of the inventory.
func (s *shelf) put(name string, annotations map[string]any) inventory.Entry {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
	s.objects[id] = object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": name, "namespace": "shop", "uid": "uid-" + name, "annotations": annotations,
		"labels": map[string]any{object.PartOf: desired.PartOfValue(pruned().Key)},
	}}
	return inventory.Entry{ID: id, Version: "v1", UID: "uid-" + name}
}

func pruned() app.App {
	return app.App{Key: app.Key{Kind: "Application", Namespace: "shop", Name: prunedApp}, Prune: policy.PruneDelete, Policy: policy.Policy{Mode: policy.Enforce}}
}

func newShelf() (*shelf, *Engine) {
	s := &shelf{objects: map[object.ID]object.Object{}, changes: map[object.ID]map[string]any{}, broken: map[object.ID]error{}}
	return s, s.engine(s, 1)
}

// engine reads from the shelf, and writes to w.
func (s *shelf) engine(w apply.Writer, objectsAtOnce int) *Engine {
	rule := func(value string, effect optout.PruneEffect) optout.PruneRule {
		return optout.PruneRule{Key: "test/prune", Value: value, Effect: effect}
	}
	return NewEngine(Dependencies{
		Live: s, Writer: w, Now: time.Now, PruneRules: optout.PruneRules{rule("never", optout.KeepUnlessEnd), rule("outlives", optout.OutliveApp), rule("confirm", optout.ConfirmPrune)},
		ObjectsAtOnce: objectsAtOnce,
	}, nil)
}

// TestWhatChangesInMidPruneIsJudgedAsBefore: by the rules of an app that lives. What asks to outlive its app is deleted, and what has just been asked to stay,
// stays.
func TestWhatChangesInMidPruneIsJudgedAsBefore(t *testing.T) {
	s, e := newShelf()
	outlives, stays := s.put("outlives", map[string]any{"test/prune": "outlives"}), s.put("stays", nil)
	s.changes[outlives.ID] = map[string]any{"test/prune": "outlives", "status": "new"}
	s.changes[stays.ID] = map[string]any{"test/prune": "never"}
	saved := inventory.Record{Entries: []inventory.Entry{outlives, stays}}
	run := e.newPruneRun(pruned(), 2)
	if err := run.execute(t.Context(), &saved, saved.Entries); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"outlives"}, s.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if len(saved.Entries) != 1 || saved.Entries[0].ID != stays.ID {
		t.Errorf("the inventory has %v, want the one that stays", saved.Entries)
	}
	if why := run.kept[stays.ID].Why; why == "" || run.stillDue()[stays.ID] {
		t.Errorf("it stays because of %q, and is still due: %t", why, run.stillDue()[stays.ID])
	}
}

// TestAConfirmationThatIsAskedForInMidPruneIsAwaited: the object stays, and the prune fails; an approval of what asked for it already holds.
func TestAConfirmationThatIsAskedForInMidPruneIsAwaited(t *testing.T) {
	for what, c := range map[string]struct {
		before    map[string]any // annotations
		confirmed bool
		appGoes   bool
		stays     bool
	}{
		"asked for in mid-prune": {stays: true},
		"and confirmed":          {confirmed: true},
		"and the app is deleted": {appGoes: true},
		"asked for before":       {before: map[string]any{"test/prune": "confirm"}},
	} {
		s, e := newShelf()
		asks := s.put("asks", c.before)
		s.changes[asks.ID] = map[string]any{"test/prune": "confirm", "status": "new"}
		a := pruned()
		a.Deleting = c.appGoes
		saved := inventory.Record{Entries: []inventory.Entry{asks}}
		run := e.newPruneRun(a, 1)
		run.in.Confirmed = c.confirmed
		if c.before != nil {
			looked := e.newPruneRun(a, 1)
			if reasonOf(looked.execute(t.Context(), &inventory.Record{}, saved.Entries)) != report.PruneHeld {
				t.Errorf("%s: it is not held", what)
			}
			run.in.Approved = looked.plan.Token
		}
		err := run.execute(t.Context(), &saved, saved.Entries)
		if stays := len(s.deleted) == 0; stays != c.stays || (len(saved.Entries) > 0) != c.stays || (err != nil) != c.stays {
			t.Errorf("%s: it stays: %v; the inventory has %v; %v", what, stays, saved.Entries, err)
		}
	}
}

// TestAHandOverOutlivesAPruneThatFails: the app that asked for an object may not have run when the prune is tried again.
func TestAHandOverOutlivesAPruneThatFails(t *testing.T) {
	s, e := newShelf()
	passed, other := s.put("a", nil), s.put("b", nil)
	next := app.Key{Kind: "Application", Namespace: "shop", Name: "next"}
	e.await(passed.ID, asker{app: next})
	s.broken[other.ID] = errors.New("timeout")
	saved := inventory.Record{Entries: []inventory.Entry{passed, other}}
	if err := e.newPruneRun(pruned(), 2).execute(t.Context(), &saved, saved.Entries); err == nil {
		t.Fatal("an object cannot be read, and the prune succeeds")
	}
	delete(s.broken, other.ID)
	saved = inventory.Record{Entries: []inventory.Entry{passed, other}} // as stored before
	if err := e.newPruneRun(pruned(), 2).execute(t.Context(), &saved, saved.Entries); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, s.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if len(saved.Entries) != 1 || saved.Entries[0].ID != passed.ID {
		t.Errorf("the inventory has %v, want what the other app has not applied yet", saved.Entries)
	}
}

// TestClaimsAreReadWhileTheEngineIsLocked: an object's lock is taken after the engine's, and claims are read while an object's is held.
func TestClaimsAreReadWhileTheEngineIsLocked(t *testing.T) {
	_, e := newShelf()
	e.mu.Lock()
	defer e.mu.Unlock()
	read := make(chan bool)
	go func() { read <- e.hasClaimant(object.ID{Kind: "ConfigMap"}) }()
	select {
	case <-read:
	case <-time.After(time.Minute):
		t.Error("claims are not read while the engine's lock is held")
	}
}

// barrier lets the deletions of ConfigMaps end when as many as it waits for have begun.
type barrier struct {
	*shelf
	mu      sync.Mutex
	waits   sync.WaitGroup
	pending int // ConfigMaps
}

func (b *barrier) Delete(ctx context.Context, t apply.Target) error {
	if t.ID.Kind == "ConfigMap" {
		b.waits.Done()
		b.waits.Wait()
		time.Sleep(time.Second)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.ID.Kind == "ConfigMap" {
		b.pending--
	} else if b.pending > 0 {
		return fmt.Errorf("%d ConfigMaps are not deleted yet", b.pending)
	}
	return b.shelf.Delete(ctx, t)
}

// TestObjectsOfAKindAreDeletedAtOnce: one after the other, each would wait for the rest. Another kind waits for them: the app's account may need it.
func TestObjectsOfAKindAreDeletedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newShelf()
		saved := inventory.Record{}
		for _, name := range []string{"a", "b", "c", "d"} {
			saved.Entries = append(saved.Entries, s.put(name, nil))
		}
		b := &barrier{shelf: s, pending: len(saved.Entries)}
		b.waits.Add(b.pending)
		e := s.engine(b, b.pending+1)
		account := s.put("account", nil)
		o := s.objects[account.ID]
		delete(s.objects, account.ID)
		account.ID.Kind, o["kind"] = "ServiceAccount", "ServiceAccount"
		s.objects[account.ID] = o
		saved.Entries = append(saved.Entries, account)
		if err := e.newPruneRun(pruned(), len(saved.Entries)).execute(t.Context(), &saved, saved.Entries); err != nil {
			t.Fatal(err)
		}
		if len(s.deleted) != 5 || len(saved.Entries) > 0 {
			t.Errorf("deleted %v, and the inventory has %v", s.deleted, saved.Entries)
		}
	})
}

// cutOff is a shelf of which one object is deleted before the time of the run is over.
type cutOff struct {
	*shelf
	end context.CancelFunc
}

func (c cutOff) Delete(ctx context.Context, t apply.Target) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.end()
	return c.shelf.Delete(ctx, t)
}

// TestAPruneThatIsCutOffIsRecorded: what was deleted counts for the next prune, and what is left of an approved one needs no other approval.
func TestAPruneThatIsCutOffIsRecorded(t *testing.T) {
	for what, approved := range map[string]bool{"approved": true, "within the limits": false} {
		s, _ := newShelf()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		e, store := s.engine(cutOff{s, end}, 1), &stored{}
		e.Inventory = store
		record := inventory.Record{App: pruned().Key, Entries: []inventory.Entry{s.put("a", nil), s.put("b", nil), s.put("c", nil)}}
		run, planned := e.newPruneRun(pruned(), 3), e.newPruneRun(pruned(), 3)
		if err := planned.readCandidates(ctx, record.Entries); err != nil {
			t.Fatal(err)
		}
		all := []object.ID{record.Entries[0].ID, record.Entries[1].ID, record.Entries[2].ID}
		if approved {
			run.in.Limit, run.in.Approved = new(int), planned.in.ApprovalToken(all)
		}
		err := run.execute(ctx, &record, record.Entries)
		if err = e.saveAfterPrune(ctx, record, err); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", what, err)
		}
		saved, err := inventory.ParseRecord(store.text)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		guard := saved.Guard
		counts := len(guard.Pruned) == 1 && guard.Pruned[0].Count == 1
		if approved {
			counts = guard.Continued == planned.in.ApprovalToken(all[1:])
		}
		if len(saved.Entries) != 2 || !counts {
			t.Errorf("%s: recorded %v and %+v", what, saved.Entries, guard)
		}
	}
}

// unfinished is a shelf and a journal. The deletion of "b" ends when that of another object is in the journal.
type unfinished struct {
	*shelf
	noted chan struct{}
}

func (u unfinished) Append(...journal.Entry) { u.noted <- struct{}{} }

func (u unfinished) Read(journal.Query, func(journal.Entry) bool) error { return nil }

func (u unfinished) Delete(ctx context.Context, t apply.Target) error {
	if t.ID.Name == "b" {
		<-u.noted
	}
	return u.shelf.Delete(ctx, t)
}

// TestEachDeletionIsInTheJournalAtOnce: the process may be killed before the last object of the kind is deleted.
func TestEachDeletionIsInTheJournalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newShelf()
		u := unfinished{s, make(chan struct{}, 2)}
		e := s.engine(u, 2)
		e.Journal = u
		saved := inventory.Record{Entries: []inventory.Entry{s.put("a", nil), s.put("b", nil)}}
		if err := e.newPruneRun(pruned(), 2).execute(t.Context(), &saved, saved.Entries); err != nil || len(s.deleted) != 2 {
			t.Errorf("deleted %v: %v", s.deleted, err)
		}
	})
}

// refusesFirst is a shelf that refuses to delete one object, just before the time of the run is over.
type refusesFirst struct{ cutOff }

func (r refusesFirst) Delete(ctx context.Context, t apply.Target) error {
	if err := r.cutOff.Delete(ctx, t); err != nil {
		return live.Unanswered(err)
	}
	return errors.New("a webhook refuses that")
}

// TestAPruneThatIsCutOffSaysWhatHasFailed: what was refused by itself, and of the rest how many objects, not each of them.
func TestAPruneThatIsCutOffSaysWhatHasFailed(t *testing.T) {
	s, _ := newShelf()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	saved := inventory.Record{Entries: []inventory.Entry{s.put("a", nil), s.put("b", nil), s.put("c", nil)}}
	err := s.engine(refusesFirst{cutOff{s, end}}, 1).newPruneRun(pruned(), 3).execute(ctx, &saved, saved.Entries)
	want := "prune ConfigMap shop/a: a webhook refuses that\n2 of 3 objects are not deleted yet, such as ConfigMap shop/b: context canceled"
	if err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestWhatIsKeptWaitsForNothing: a run that deletes nothing waits for no other app and has nothing rendered without the cache.
func TestWhatIsKeptWaitsForNothing(t *testing.T) {
	s, e := newShelf()
	kept, leaves := s.put("kept", map[string]any{"test/prune": "never"}), s.put("leaves", nil)
	e.Sources, e.Inventory, e.Fresh = &readers{appNamed(0)}, &oneRecord{}, nil // which would panic
	run := func(left ...inventory.Entry) (*appRun, error) {
		a := pruned()
		r := &appRun{engine: e, state: e.state(a.Key), app: a, artifact: source.Artifact{Revision: "2"}, inventory: inventory.Record{App: a.Key, Entries: left}}
		return r, r.pruneUnlessHeld(t.Context(), left)
	}
	if r, err := run(kept, leaves); reasonOf(err) != report.InProgress || len(r.report.Leaving) != 2 || len(s.deleted) > 0 {
		t.Fatalf("%v: nothing is awaited before %v is deleted; deleted: %v", err, r.report.Leaving, s.deleted)
	}
	if r, err := run(kept); err != nil || len(r.inventory.Entries) != 1 || len(r.report.Leaving) != 1 || e.peers.anyWaits() {
		t.Errorf("%v: the inventory has %v, %v is left; waits: %t", err, r.inventory.Entries, r.report.Leaving, e.peers.anyWaits())
	}
}

// inPairs is a shelf whose reads end two by two.
type inPairs struct {
	*shelf
	pair chan struct{}
}

func (p inPairs) Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error) {
	select {
	case p.pair <- struct{}{}:
	case <-p.pair:
	}
	return p.shelf.Get(ctx, gvk, id)
}

// TestObjectsAreReadSeveralAtOnce also where nothing is deleted: a wait for hundreds looks at all of them in each run.
func TestObjectsAreReadSeveralAtOnce(t *testing.T) {
	for name, read := range map[string]func(*Engine, []inventory.Entry) error{
		"what leaves, where nothing is written": func(e *Engine, all []inventory.Entry) error {
			_, err := e.stillThere(t.Context(), pruned(), all)
			return err
		},
		"a preview": func(e *Engine, all []inventory.Entry) error {
			_, _, _ = e.PruneCandidates(t.Context(), pruned(), all)
			return nil
		},
		"a wait for the end of what was deleted": func(e *Engine, all []inventory.Entry) error {
			run := e.newPruneRun(pruned(), len(all))
			run.entries = map[object.ID]inventory.Entry{all[0].ID: all[0], all[1].ID: all[1]}
			return run.awaitGone(t.Context(), pruneWave{ids: []object.ID{all[0].ID, all[1].ID}})
		},
		"a deletion that waits for termination": func(e *Engine, all []inventory.Entry) error {
			run := e.newPruneRun(pruned(), len(all))
			run.deleted = all
			_, err := run.stillTerminating(t.Context(), &inventory.Record{Entries: all})
			return err
		},
		"an adoption": func(e *Engine, all []inventory.Entry) error {
			r := &appRun{engine: e, access: tenancy.Access{Live: e.Live}}
			return r.inherit(t.Context(), map[object.ID]string{all[0].ID: "v1", all[1].ID: "v1"})
		},
		"a cleanup": func(e *Engine, all []inventory.Entry) error {
			r := &appRun{engine: e, access: tenancy.Access{Live: e.Live}, state: &appState{wanted: entryIDs(all)}, inventory: inventory.Record{Entries: all}}
			_, err := r.createdIn(t.Context(), map[object.ID]string{}, time.Time{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newShelf()
				all := []inventory.Entry{s.put("a", nil), s.put("b", nil)}
				e := s.engine(s, 2)
				e.Live = inPairs{s, make(chan struct{})}
				e.Identities = ownIdentity{tenancy.Access{Live: e.Live, Writer: s}}
				if err := read(e, all); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
