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
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// deleteRanHooks deletes what the hooks of a deleted app's operations have left: as in Argo CD they go with the app. Those that are kept when
// their app is deleted stay, and so does what truce has not applied, or has applied with the labels of another app. What is no hook any more is in the
// inventory's entries.
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

// deleteHooks deletes those of the objects that truce has applied as hooks of an app, unless they are to outlive it when it is deleted.
func (e *Engine) deleteHooks(ctx context.Context, a app.App, access tenancy.Access, all []object.ID) error {
	if len(all) == 0 || e.Version == nil {
		return nil
	}
	served, err := e.Version.Capabilities(ctx)
	if err != nil {
		return err
	}
	runner := hooks.Runner{Kind: hooks.Kind{Marks: syncMarks}, Namespace: a.DefaultNamespace.Name, Access: access, Cluster: hookCluster{e}}
	for _, id := range all {
		gvk, known, err := servedAs(id, served)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		now, err := access.Live.Get(ctx, gvk, id)
		switch {
		case errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind):
			continue
		case err != nil:
			return fmt.Errorf("read hook %s: %w", id, err)
		}
		if _, outlives := e.PruneRules.Find(now, optout.OutliveApp); (!a.Deleting || !outlives) && isHookOf(a, now) {
			runner.Hooks = append(runner.Hooks, hook.Hook{Object: object.Object{
				"apiVersion": gvk.APIVersion(), "kind": gvk.Kind, "metadata": map[string]any{"name": id.Name, "namespace": id.Namespace},
			}})
		}
	}
	return runner.Remove(ctx)
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

// isHookOf reports whether truce has applied an object as a hook of an app.
func isHookOf(a app.App, o object.Object) bool {
	for k, want := range a.Labels {
		if have, _ := o.Label(k); have != want {
			return false
		}
	}
	owners, err := ownership.Entries(o)
	return err == nil && slices.ContainsFunc(owners, func(e ownership.Entry) bool { return e.IsApply(ownership.Manager) })
}
