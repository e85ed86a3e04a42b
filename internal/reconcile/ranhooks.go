package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// deleteRanHooks deletes what the hooks of a deleted app's operations have left: as in Argo CD they go with the app. Those that are kept when
// their app is deleted stay, and so does what truce has not applied, or another app has made by now. What is no hook any more is in the inventory's
// entries.
func (e *Engine) deleteRanHooks(ctx context.Context, a app.App, saved inventory.Record) error {
	ran := slices.DeleteFunc(ranHooks(saved.Operation), func(id object.ID) bool {
		return slices.ContainsFunc(saved.Entries, func(entry inventory.Entry) bool { return entry.ID == id })
	})
	if len(ran) == 0 {
		return nil
	}
	access, err := e.accessOf(a)
	if err != nil {
		return err
	}
	return e.deleteHooks(ctx, a, access, ran)
}

// deleteHooks deletes those of the objects that are hooks of an app, unless they are to outlive it when it is deleted, or its project permits them no longer.
func (e *Engine) deleteHooks(ctx context.Context, a app.App, access tenancy.Access, all []object.ID) error {
	if len(all) == 0 || e.Version == nil {
		return nil
	}
	served, err := e.Version.Capabilities(ctx)
	if err != nil {
		return err
	}
	runner := hooks.Runner{
		Kind: hooks.Kind{Marks: syncMarks, Owner: hookOwner(a)}, Namespace: a.DefaultNamespace.Name, Access: access, Cluster: hookCluster{e},
	}
	for _, id := range all {
		o, err := e.hookToDelete(ctx, a, access, id, served)
		if err != nil {
			return err
		}
		if o != nil {
			runner.Hooks = append(runner.Hooks, hook.Hook{Object: o})
		}
	}
	return runner.Remove(ctx)
}

// hookToDelete is the name of an object that is a hook of an app and may be deleted; nil for another one, and where there is none.
func (e *Engine) hookToDelete(ctx context.Context, a app.App, access tenancy.Access, id object.ID, served capabilities.Set) (object.Object, error) {
	if tenancy.Refusal(a, id) != "" { // it stays, as what the app manages does
		return nil, nil
	}
	gvk, known, err := servedAs(id, served)
	if err != nil || !known {
		return nil, err
	}
	now, err := access.Live.Get(ctx, gvk, id)
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read hook %s: %w", id, err)
	}
	if in := (decide.PruneInput{Rules: e.PruneRules, DeleteRestraint: a.DeleteRestraint}); a.Deleting && in.OutlivesApp(now) {
		return nil, nil
	}
	if mine, err := e.isSurelyHookOf(ctx, a, now); err != nil || !mine {
		return nil, err
	}
	meta := map[string]any{"name": id.Name, "namespace": id.Namespace}
	return object.Object{"apiVersion": gvk.APIVersion(), "kind": gvk.Kind, "metadata": meta}, nil
}

// ranHooks are the objects of the hooks that have run in an operation and before it, in an order that is the same each time.
func ranHooks(op inventory.Operation) []object.ID {
	var out []object.ID
	for _, text := range leftHooks(op) {
		if id, err := object.ParseID(text); err == nil {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}

// mostLeft bounds how many objects of former hooks are remembered: with generateName each operation makes others.
const mostLeft = 100

// leftHooks are the objects that an operation and those before it may have left, the newest last.
func leftHooks(op inventory.Operation) []string {
	var ran []string
	for key, run := range op.Hooks {
		event, id, _ := strings.Cut(key, " ")
		if slices.Contains(syncEvents, hook.Event(event)) && run.Phase != hook.NotRun && !slices.Contains(ran, id) {
			ran = append(ran, id)
		}
	}
	slices.Sort(ran)
	earlier := slices.DeleteFunc(slices.Clone(op.Left), func(id string) bool { return slices.Contains(ran, id) })
	all := append(earlier, ran...)
	return all[max(0, len(all)-mostLeft):]
}

// noOperation is the key of none: operationKey gives hashes. A record has no operation without a key.
const noOperation = "none"

// withoutOperation is what a record keeps when it forgets an operation: what the hooks of that and of those before have left.
func withoutOperation(op inventory.Operation) inventory.Operation {
	left := leftHooks(op)
	if len(left) == 0 {
		return inventory.Operation{}
	}
	return inventory.Operation{Key: noOperation, Ended: true, Left: left}
}

// servedAs is the first version at which a kind is served. That its group does not answer is an error.
func servedAs(id object.ID, served capabilities.Set) (object.GVK, bool, error) {
	for _, s := range served.APIVersions { // apps/v1 and apps/v1/Deployment
		gvk := object.Object{"apiVersion": path.Dir(s), "kind": path.Base(s)}.GVK()
		if gvk.Group == id.Group && gvk.Kind == id.Kind {
			return gvk, true, nil
		}
	}
	if served.MayLack(id.Group) {
		return object.GVK{}, false, fmt.Errorf("read hook %s: the API server has no answer of %s", id, id.Group)
	}
	return object.GVK{}, false, nil
}

// hookOwner is an app in the mark of its hooks.
func hookOwner(a app.App) string { return a.Key.String() }

// isHookOf reports whether truce has applied an object as a hook of an app. One without a mark may be that of another app: earlier versions made such.
func isHookOf(a app.App, o object.Object) bool {
	for k, want := range a.Labels {
		if have, _ := o.Label(k); have != want {
			return false
		}
	}
	owners, err := ownership.Entries(o)
	if err != nil || !slices.ContainsFunc(owners, func(e ownership.Entry) bool { return e.IsApply(ownership.Manager) }) {
		return false
	}
	of, marked := o.Annotation(hooks.OwnerMark)
	if !marked {
		return true
	}
	isOurs := ownership.ApplyEntry(owners, ownership.Manager).Has(field.NewPath("metadata", "annotations", hooks.OwnerMark))
	return of == hookOwner(a) && isOurs // a mark that was copied proves nothing
}

// isSurelyHookOf is isHookOf for an object that is to be deleted: one without a mark counts if no other app's record has it as that of a hook.
func (e *Engine) isSurelyHookOf(ctx context.Context, a app.App, o object.Object) (bool, error) {
	if !isHookOf(a, o) {
		return false, nil
	}
	if _, marked := o.Annotation(hooks.OwnerMark); marked {
		return true, nil
	}
	holders, err := e.Inventory.HookHolders(ctx, o.ID())
	if err != nil {
		return false, fmt.Errorf("find the app of hook %s: %w", o.ID(), err)
	}
	return !slices.ContainsFunc(holders, func(key app.Key) bool { return key != a.Key }), nil
}
