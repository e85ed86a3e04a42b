package hooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// busy is an API server that holds one object and leaves the first applies without an answer.
type busy struct {
	live.Reader
	apply.Writer
	now     object.Object
	refuses int
	applied []object.Object
}

func (b *busy) Get(context.Context, object.GVK, object.ID) (object.Object, error) {
	if b.now == nil {
		return nil, live.ErrNotFound
	}
	return b.now, nil
}

func (b *busy) List(context.Context, live.Interest) ([]object.Object, error) { return nil, nil }

func (b *busy) Delete(context.Context, apply.Target) error {
	b.now = nil
	return nil
}

func (b *busy) Apply(_ context.Context, a apply.Apply) (object.Object, error) {
	if b.refuses--; b.refuses >= 0 {
		return nil, live.Unanswered(errors.New("timeout"))
	}
	b.now = a.Body
	b.applied = append(b.applied, a.Body)
	return a.Body, nil
}

func (b *busy) ScopeOf(context.Context, object.GVK) (desired.Scope, error) {
	return desired.Namespaced, nil
}
func (b *busy) Manages(object.ID) bool                         { return false }
func (b *busy) Record(context.Context, map[int]hook.Run) error { return nil }

// TestAFormerObjectIsNoResult: a hook whose delete policy leaves its object there is applied until the server has answered, and what is there from the
// last operation says nothing of this one.
func TestAFormerObjectIsNoResult(t *testing.T) {
	hookOf := func(revision string) object.Object {
		return object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "settings", "namespace": "shop", "annotations": map[string]any{"argocd.argoproj.io/hook": "PreSync"},
		}, "data": map[string]any{"revision": revision}}
	}
	b := &busy{now: hookOf("1"), refuses: 1}
	r := &Runner{
		Kind:  Kind{Marks: []string{"argocd.argoproj.io/hook"}, Manager: "truce", Former: FormerApplied},
		Event: "PreSync", Hooks: []hook.Hook{{Object: hookOf("2"), Policies: []hook.DeletePolicy{hook.WhenFailed}}},
		Access: tenancy.Access{Live: b, Writer: b}, Cluster: b, Recorder: b, Now: time.Now, Created: map[int]bool{},
	}
	runs := map[int]hook.Run{}
	if err := advance(t, r, runs); !errors.Is(err, live.ErrUnanswered) {
		t.Fatalf("the first run ends with %v", err)
	}
	if err := advance(t, r, runs); err != nil {
		t.Fatal(err)
	}
	if len(b.applied) != 1 || b.now.StringAt("data", "revision") != "2" {
		t.Errorf("applied %d times; there is revision %q, want 2", len(b.applied), b.now.StringAt("data", "revision"))
	}
}

// TestWhatAnotherAppHasMadeAgainStays: a hook that has succeeded asks for its object to be deleted, also in a later run.
func TestWhatAnotherAppHasMadeAgainStays(t *testing.T) {
	of := func(owner string) object.Object {
		return object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "settings", "namespace": "shop", "annotations": map[string]any{"argocd.argoproj.io/hook": "PreSync", OwnerMark: owner},
		}}
	}
	b := &busy{now: of("Application shop/b")}
	r := &Runner{
		Kind:  Kind{Marks: []string{"argocd.argoproj.io/hook"}, Manager: "truce", Former: FormerApplied, Owner: "Application shop/a"},
		Event: "PreSync", Hooks: []hook.Hook{{Object: of(""), Policies: []hook.DeletePolicy{hook.BeforeCreation, hook.WhenSucceeded}}},
		Access: tenancy.Access{Live: b, Writer: b}, Cluster: b, Recorder: b, Now: time.Now, Created: map[int]bool{},
	}
	if err := advance(t, r, map[int]hook.Run{0: {Phase: hook.Succeeded}}); err != nil || b.now == nil {
		t.Errorf("the object of the other app is there: %t, %v", b.now != nil, err)
	}
	if err := advance(t, r, map[int]hook.Run{}); err != nil || b.now != nil { // made again, it is the app's, and goes when it has succeeded
		t.Errorf("the object is there: %t, %v", b.now != nil, err)
	}
	if owner, _ := b.applied[0].Annotation(OwnerMark); owner != "Application shop/a" {
		t.Errorf("it is made with the mark of %q", owner)
	}
}

// TestAnObjectThatIsGoneIsJudgedByItsLastState: what deletes a Job as soon as it has finished is faster than a read.
func TestAnObjectThatIsGoneIsJudgedByItsLastState(t *testing.T) {
	job := func(condition string) object.Object {
		return object.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate", "namespace": "shop", "uid": "1"}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": condition, "status": "True"}},
		}}
	}
	var failed *HookError
	for _, created := range []bool{true, false} { // by this process
		b := &busy{}
		r := &Runner{
			Hooks: []hook.Hook{{Object: job("")}}, Access: tenancy.Access{Live: b, Writer: b}, Cluster: b, Recorder: b, Now: time.Now, Created: map[int]bool{0: created},
			Ended: map[object.ID]object.Object{job("").ID(): job("Complete")},
		}
		if err := advance(t, r, map[int]hook.Run{0: {Phase: hook.Running}}); err != nil || len(b.applied) > 0 {
			t.Errorf("created by this process: %t: one that was complete: %v; made again %d times", created, err, len(b.applied))
		}
		r.Ended[job("").ID()] = job("Failed")
		if err := advance(t, r, map[int]hook.Run{0: {Phase: hook.Running}}); !errors.As(err, &failed) || len(b.applied) > 0 {
			t.Errorf("created by this process: %t: one that had failed: %v; made again %d times", created, err, len(b.applied))
		}
	}
}

func advance(t *testing.T, r *Runner, runs map[int]hook.Run) error {
	t.Helper()
	waits, err := r.Advance(t.Context(), runs)
	if len(waits) > 0 {
		t.Fatalf("it waits: %v", waits)
	}
	return err
}
