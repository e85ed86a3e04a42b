package reconcile

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// servesJobs is an API server of Jobs.
type servesJobs struct{}

func (servesJobs) Capabilities(context.Context) (capabilities.Set, error) {
	return capabilities.Set{APIVersions: []string{"batch/v1", "batch/v1/Job"}}, nil
}

// holders are the apps whose records have each hook.
type holders struct {
	inventory.Store
	apps []app.Key
}

func (h holders) HookHolders(context.Context, object.ID) ([]app.Key, error) { return h.apps, nil }

// putHook adds a Job with a hook's annotation and others, of which truce's own apply has put some there.
func (s *shelf) putHook(name string, annotations map[string]any, applied ...string) object.ID {
	id := object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: name}
	all, owned := map[string]any{"argocd.argoproj.io/hook": "PreSync"}, map[string]any{"f:argocd.argoproj.io/hook": map[string]any{}}
	for k, v := range annotations {
		all[k] = v
	}
	for _, k := range applied {
		owned["f:"+k] = map[string]any{}
	}
	s.objects[id] = object.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{
		"name": name, "namespace": "shop", "uid": "uid-" + name, "annotations": all,
		"managedFields": []any{map[string]any{
			"manager": "truce", "operation": "Apply", "apiVersion": "batch/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": owned}},
		}},
	}}
	return id
}

// TestOnlyAnAppsOwnHooksAreDeleted: what another app has made again since stays, and so does what truce of an earlier version has made, if two apps may have.
func TestOnlyAnAppsOwnHooksAreDeleted(t *testing.T) {
	own, other := pruned().Key, app.Key{Kind: "Application", Namespace: "shop", Name: "other"}
	for what, c := range map[string]struct {
		mark    map[string]any
		applied []string
		holders []app.Key // of the records that have the hook
		gone    bool
	}{
		"made by the app":                {mark: map[string]any{hooks.OwnerMark: own.String()}, applied: []string{hooks.OwnerMark}, holders: []app.Key{own, other}, gone: true},
		"made by another app":            {mark: map[string]any{hooks.OwnerMark: other.String()}, applied: []string{hooks.OwnerMark}, holders: []app.Key{own}},
		"with a mark that was copied":    {mark: map[string]any{hooks.OwnerMark: own.String()}, holders: []app.Key{own}},
		"without a mark":                 {holders: []app.Key{own}, gone: true},
		"without a mark, and of another": {holders: []app.Key{own, other}},
	} {
		s, e := newShelf()
		e.Version, e.Scope, e.Inventory = servesJobs{}, namespaced{}, holders{apps: c.holders}
		id := s.putHook("migrate", c.mark, c.applied...)
		if err := e.deleteHooks(t.Context(), pruned(), tenancy.Access{Live: s, Writer: s}, []object.ID{id}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := []string(nil)
		if c.gone {
			want = []string{"migrate"}
		}
		if diff := cmp.Diff(want, s.deleted); diff != "" {
			t.Errorf("%s: deleted (-want +got):\n%s", what, diff)
		}
	}
}

// TestWhatHooksHaveLeftStaysWithAnAppWhoseObjectsStay: an option of the object's own counts instead of the app's.
func TestWhatHooksHaveLeftStaysWithAnAppWhoseObjectsStay(t *testing.T) {
	const options = "argocd.argoproj.io/sync-options"
	for own, gone := range map[string]bool{"": false, "Delete=true": true, "Delete=false": false} {
		s, e := newShelf()
		e.PruneRules = optout.PruneRules{
			{Key: options, Value: "Delete=false", Match: optout.Item, Effect: optout.OutliveApp},
			{Key: options, Value: "Delete=confirm", Match: optout.Item, Effect: optout.OutliveApp, NeedsConfirmation: true},
		}
		e.Version, e.Scope, e.Inventory = servesJobs{}, namespaced{}, holders{}
		a := pruned()
		a.Deleting, a.DeleteRestraint = true, policy.Restraint{Never: true, Mark: "Delete=false"}
		id := s.putHook("migrate", map[string]any{options: own})
		if err := e.deleteHooks(t.Context(), a, tenancy.Access{Live: s, Writer: s}, []object.ID{id}); err != nil {
			t.Fatal(err)
		}
		if (len(s.deleted) > 0) != gone {
			t.Errorf("%q: deleted %v", own, s.deleted)
		}
	}
}

// stored is an inventory that keeps the text of a record.
type stored struct {
	inventory.Store
	text []byte
}

func (s *stored) Save(ctx context.Context, r inventory.Record) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.text, err = inventory.FormatRecord(r)
	return err
}

// TestWhatHooksHaveLeftIsKnownAfterTheirOperation: an automated operation without hooks takes its place, or it is given up.
func TestWhatHooksHaveLeftIsKnownAfterTheirOperation(t *testing.T) {
	earlier, own := "Job.batch shop/earlier", "Job.batch shop/own"
	former := inventory.Operation{Key: "before", Left: []string{earlier}}.With("PreSync "+own, hook.Run{Phase: hook.Succeeded})
	for what, end := range map[string]func(*appRun) error{
		"another takes its place": func(r *appRun) error { return r.dropFormer(t.Context()) },
		"it is given up":          func(r *appRun) error { return r.stopHooks(t.Context(), "superseded", false) },
	} {
		_, e := newShelf()
		a, store := pruned(), &stored{}
		e.Inventory = store
		r := &appRun{engine: e, state: e.state(a.Key), app: a, asked: a, purpose: rollingOut, inventory: inventory.Record{App: a.Key, Operation: former}}
		r.state.inventory.next = &r.inventory // what stopHooks loads
		if err := end(r); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		saved, err := inventory.ParseRecord(store.text)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff([]string{earlier, own}, leftHooks(saved.Operation)); diff != "" || !saved.Operation.Ended || saved.Operation.Key == former.Key {
			t.Errorf("%s: operation %+v, left (-want +got):\n%s", what, saved.Operation, diff)
		}
	}
}

// TestAnAppThatMovesLeavesItsHooks: they ran in the cluster before, and their objects would be looked for by name in the one that it goes on in.
func TestAnAppThatMovesLeavesItsHooks(t *testing.T) {
	_, e := newShelf()
	a := pruned()
	a.MovedTo = identity.OwnCluster
	r := &appRun{engine: e, app: a, inventory: inventory.Record{
		Entries: []inventory.Entry{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Version: "v1"}},
		Guard:   inventory.Guard{Origin: inventory.Origin{Cluster: "another"}}, Operation: inventory.Operation{Key: "k", Left: []string{"Job.batch shop/migrate"}},
	}}
	if err := r.acceptMove(); err != nil {
		t.Fatal(err)
	}
	if left := leftHooks(r.inventory.Operation); len(left) > 0 || len(r.inventory.Entries) > 0 {
		t.Errorf("it has %v, and the hooks %v", r.inventory.Entries, left)
	}
}

// TestWhatTheProjectPermitsNoMoreStays: else the app could not be deleted, as its access refuses each write of that.
func TestWhatTheProjectPermitsNoMoreStays(t *testing.T) {
	s, e := newShelf()
	e.Version, e.Scope, e.Inventory = servesJobs{}, namespaced{}, holders{}
	a := pruned()
	a.Project = &project.Project{Name: "team", Namespaced: project.Kinds{AllowsAll: true, Denied: []project.Kind{{Group: "batch", Kind: "Job"}}}}
	access, err := tenancy.AccessOf(e.Identities, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.deleteHooks(t.Context(), a, access, []object.ID{s.putHook("migrate", nil)}); err != nil || len(s.deleted) > 0 {
		t.Errorf("deleted %v: %v", s.deleted, err)
	}
}
