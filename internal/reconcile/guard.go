package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
)

// origin is the identity of the app as this run reads it.
func (r *appRun) origin() inventory.Origin {
	namespace := r.app.Namespace
	if namespace == "" {
		namespace = r.app.DefaultNamespace.Name
	}
	return inventory.Origin{Repository: r.artifact.Repository, Path: r.app.Path, Namespace: namespace, Cluster: r.cluster, Commit: r.artifact.Commit}
}

// newGuard is the guard of a record once nothing of the app is left to prune.
func (r *appRun) newGuard(g inventory.Guard) inventory.Guard {
	r.state.mu.Lock()
	r.state.commit = r.artifact.Commit
	r.state.mu.Unlock()
	return inventory.Guard{Size: len(r.state.objects()), Origin: r.origin(), Pruned: g.Since(r.windowBegin())}
}

// windowBegin is from when on prunes count.
func (r *appRun) windowBegin() time.Time { return r.engine.Now().Add(-decide.PruneInput{}.Window()) }

// countGuard adds to a judgement what the prune guard counts besides the objects that leave now.
func (r *appRun) countGuard(ctx context.Context, s *pruneRun, leaving int) {
	g := r.inventory.Guard
	s.in.Continued, s.in.Earlier = g.Continued, earlierApp(r.app, r.inventory)
	for _, p := range g.Since(r.windowBegin()) {
		s.in.RecentlyPruned += p.Count
		if p.Moved {
			s.in.IdentityChange = "where the app is read from or written to has changed lately"
		}
	}
	if g.Size == 0 {
		g.Size = len(r.inventory.Entries)
	}
	s.in.Total = g.Size + s.in.RecentlyPruned
	if moved := r.originChange(ctx, 2*(leaving+s.in.RecentlyPruned) > s.in.Total); moved != "" {
		s.in.IdentityChange = moved
	}
}

// earlierApp is the uid of the app that the record is of, if that is another one of the same name: one that has been deleted without its objects, and
// whose record was put back, or one whose custom resource was made again, as from a backup.
func earlierApp(a app.App, saved inventory.Record) string {
	if saved.AppUID == a.UID {
		return ""
	}
	return saved.AppUID
}

// originChange says what of the app's identity is not what it was when nothing was left to prune; empty for nothing. The commits are compared only
// on demand, as that may ask the server.
func (r *appRun) originChange(ctx context.Context, histories bool) string {
	was, is := r.inventory.Guard.Origin, r.origin()
	r.state.mu.Lock()
	if r.state.commit != "" {
		was.Commit = r.state.commit
	}
	r.state.mu.Unlock()
	switch {
	case was.Repository == "" && is.Repository != "":
		return "the record does not show where they came from"
	case was.Repository != is.Repository:
		return fmt.Sprintf("the repository has changed from %s", was.Repository)
	case was.Path != is.Path:
		return fmt.Sprintf("the path has changed from %s", was.Path)
	case was.Namespace != is.Namespace:
		return fmt.Sprintf("the target namespace has changed from %q", was.Namespace)
	case was.Cluster != is.Cluster && !r.engine.isRemote(was.Cluster):
		return fmt.Sprintf("the target cluster has changed from %s", shownCluster(was.Cluster))
	case !histories || r.engine.Histories == nil || was.Commit == "" || was.Commit == is.Commit:
		return ""
	}
	related, err := r.engine.Histories.Related(ctx, r.app.Source, was.Commit, is.Commit)
	switch {
	case err != nil:
		return fmt.Sprintf("the history could not be compared with that of commit %.12s: %v", was.Commit, err)
	case !related:
		return fmt.Sprintf("the history has no common ancestor with commit %.12s", was.Commit)
	}
	return ""
}

// guardAfter is the guard of a record after a prune.
func (s *pruneRun) guardAfter(g inventory.Guard, now time.Time) inventory.Guard {
	g.Pruned, g.Continued = g.Since(now.Add(-s.in.Window())), ""
	switch rest := s.rest(); {
	case s.plan.Approved && len(rest) > 0:
		g.Pruned, g.Continued = nil, s.in.ApprovalToken(rest)
	case s.plan.Approved:
		g.Pruned = nil
	case len(s.deleted) > 0:
		moved := s.in.IdentityChange != "" && g.Origin.Repository != "" // else the record was lost, and nothing has moved
		g.Pruned = append(g.Pruned, inventory.Prune{At: now.UTC(), Count: len(s.deleted), Moved: moved})
	}
	return g
}
