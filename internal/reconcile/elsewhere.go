package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/report"
)

// An engine works for the apps of one cluster: that of the custom resources, or a remote one, whose apps have a kubeconfig.

// accessOf returns how an app sees its cluster. An app whose objects are in another cluster than the engine's is refused: nothing of it may be
// read or written here.
func (e *Engine) accessOf(a app.App) (tenancy.Access, error) {
	if err := e.refuseElsewhere(a); err != nil {
		return tenancy.Access{}, err
	}
	return tenancy.AccessOf(e.Identities, a)
}

func (e *Engine) refuseElsewhere(a app.App) error {
	switch {
	case a.Kubeconfig.Refused != "":
		return errors.New(a.Kubeconfig.Refused)
	case a.Kubeconfig.IsSet() && e.Remote == nil:
		return fmt.Errorf("its objects are in %s, and not looked for in this one", a.TargetName())
	case !a.Kubeconfig.IsSet() && e.Remote != nil:
		return errors.New("its objects are in the cluster of its custom resource, and not looked for in another one")
	}
	return nil
}

// identify finds out in which cluster the run's app works; empty for that of its custom resource.
func (r *appRun) identify(ctx context.Context) (err error) {
	if err := r.engine.refuseElsewhere(r.app); err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	if r.engine.Remote == nil {
		return nil
	}
	if r.cluster, err = r.engine.Remote.Identify(ctx); err != nil {
		return &stageError{report.ClusterFailed, fmt.Errorf("%s: %w", r.app.TargetName(), err)}
	}
	return nil
}

// sameCluster returns an error where the inventory's objects are in another cluster than the one that the engine reaches: they must be neither looked
// for nor deleted in this one.
func (e *Engine) sameCluster(a app.App, saved inventory.Record, now string) error {
	was := saved.Guard.Origin.Cluster
	if len(saved.Entries) == 0 || was == now || e.isRemote(was) {
		return nil
	}
	advice := "correct spec.kubeConfig or what it refers to"
	if a.Member.Project != "" { // an Application
		advice = "correct spec.destination or the Secret of the cluster"
	}
	if !a.Deleting {
		advice += fmt.Sprintf("; or, to leave those objects where they are and go on here, set the annotation %s: %q", identity.MovedToKey, shownCluster(now))
	} else {
		advice += "; or " + orphanAdvice(a) + " to leave them where they are"
	}
	return fmt.Errorf("its %d objects are in the cluster %s, and not in the cluster %s that is reached now: nothing is applied or deleted; %s",
		len(saved.Entries), shownCluster(was), shownCluster(now), advice)
}

// shownCluster is an identity for a person: the uid of the cluster's kube-system namespace, or a word for the cluster of the custom resource.
func shownCluster(id string) string {
	if id == "" {
		return identity.OwnCluster
	}
	return id
}

// acceptMove forgets what was applied to another cluster, where the app's custom resource says that it is to go on in this one.
func (r *appRun) acceptMove() error {
	err := r.engine.sameCluster(r.app, r.inventory, r.cluster)
	if err == nil {
		return nil
	}
	if r.app.MovedTo != shownCluster(r.cluster) {
		return &stageError{report.PruneHeld, err}
	}
	r.report.Notes = append(r.report.Notes, fmt.Sprintf("%d objects stay in the cluster %s, and are not this app's any more", len(r.inventory.Entries), shownCluster(r.inventory.Guard.Origin.Cluster)))
	r.inventory.Entries, r.inventory.Guard, r.inventory.Operation = nil, inventory.Guard{}, inventory.Operation{} // hooks are found by their names alone
	return nil
}

// removable returns an error where an app's objects cannot be deleted through this engine.
func (e *Engine) removable(ctx context.Context, a app.App, saved inventory.Record) error {
	if len(saved.Entries) == 0 {
		return nil
	}
	if err := e.refuseElsewhere(a); err != nil {
		return err
	}
	now := ""
	if e.Remote != nil {
		var err error
		if now, err = e.Remote.Identify(ctx); err != nil {
			return fmt.Errorf("%s: %w; its objects are deleted when it can be reached; if it is gone for good, %s", a.TargetName(), err, orphanAdvice(a))
		}
	}
	return e.sameCluster(a, saved, now)
}

// orphanAdvice is how a custom resource that is being deleted is made to leave its objects.
func orphanAdvice(a app.App) string {
	if a.Release != nil {
		return "set spec.suspend: true" // helm-controller uninstalls no release of a suspended HelmRelease
	}
	if len(a.Finalizers) > 0 {
		return "remove the finalizer " + a.Finalizers[0] // as Argo CD says whether objects go with an Application
	}
	return "set spec.deletionPolicy: Orphan"
}

// Detach ends an app in this engine, since its objects are another engine's from now on, or none's: they stay as they are, and so does its inventory.
func (e *Engine) Detach(ctx context.Context, key app.Key) error {
	if err := e.WriteInventory(ctx, key); err != nil {
		return err
	}
	e.releaseWaits.forget(key)
	e.passAllToWaiting(e.dropApp(key))
	return nil
}

// isRemote reports whether an identity is that of the engine's remote cluster.
func (e *Engine) isRemote(id string) bool {
	return e.Remote != nil && id != "" && e.Remote.Is(id)
}
