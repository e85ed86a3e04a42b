package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// mostLooks is with how many sources a prune has them all looked at: with more, each prune of a tenant's would visit too many servers.
const mostLooks = 64

// behind is reconcile.Sources' Behind for the apps whose objects are in the cluster of t: no other app takes over an object there. An app or a source that another app has put into the cluster, and that the watch has not shown yet, is
// among them. A source whose last look has failed is not: a server that does not answer would hold up the prunes of all.
func (c *Controller) behind(t *target, own app.SourceKey, since time.Time) (sources []app.SourceKey, apps []app.Key) {
	sources, unlisted, newest := c.unlooked(t, own, since)
	for key, a := range newest { // without mu, which everything waits for: the engine locks an app for as long as it registers its objects
		if !c.engineOf(key).HasSeen(key, a) {
			apps = append(apps, key)
		}
	}
	return sources, append(apps, unlisted...)
}

// unlooked returns the sources that behind does, the apps that are not known yet, and what each of the others is to have seen.
func (c *Controller) unlooked(t *target, own app.SourceKey, since time.Time) (sources []app.SourceKey, unlisted []app.Key, newest map[app.Key]source.Artifact) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	read := map[app.SourceKey]bool{}
	newest = map[app.Key]source.Artifact{}
	for key, e := range c.appSet {
		s := c.sourceSet[e.app.Source]
		if s == nil || !e.isRunnable() || !c.isLookable(s) {
			continue // nothing new can come of it
		}
		read[e.app.Source] = true
		if a := s.state.Artifact; a.Revision != "" && c.sharesCluster(e.app, t) {
			newest[key] = a
		}
	}
	for key := range read {
		state := c.sourceSet[key].state
		if len(read) <= mostLooks && key != own && !isPinnedToCommit(key) && state.Err == nil && state.At.Before(since) {
			sources = append(sources, key)
			c.sources.AddAfter(key, max(0, time.Until(since)))
		}
	}
	moreSources, unlisted := c.appliedButUnlisted()
	return append(sources, moreSources...), unlisted, newest
}

// InCluster implements the Apps of reconcile.Dependencies.
func (t *target) InCluster(wanted func(app.Key) bool) []app.Key {
	t.c.mu.RLock()
	defer t.c.mu.RUnlock()
	var out []app.Key
	for key, e := range t.c.appSet {
		if wanted(key) && !e.app.Deleting && t.c.sharesCluster(e.app, t) {
			out = append(out, key)
		}
	}
	return out
}

// appliedButUnlisted lists the sources and apps that an app has put into the cluster and that are not known yet. The caller holds mu.
func (c *Controller) appliedButUnlisted() (sources []app.SourceKey, apps []app.Key) {
	for gvk := range c.Kinds.Apps {
		for _, id := range c.Engine().AppliedObjects(gvk.Group, gvk.Kind) {
			if c.appSet[appKeyOf(id)] == nil && c.Namespaces.Cover(id.Namespace) {
				apps = append(apps, appKeyOf(id))
			}
		}
	}
	for gvk := range c.Kinds.Sources {
		for _, id := range c.Engine().AppliedObjects(gvk.Group, gvk.Kind) {
			key := app.SourceKey{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
			if c.sourceSet[key] == nil && c.Namespaces.Cover(id.Namespace) {
				sources = append(sources, key)
			}
		}
	}
	return sources, apps
}

func appKeyOf(id object.ID) app.Key {
	return app.Key{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// isRunnable reports whether the app runs when its source has a new revision. The caller holds mu.
func (e *appEntry) isRunnable() bool {
	return !e.app.Suspended && !e.app.Deleting && !e.blocked
}

// isLookable reports whether a source is looked at. The caller holds mu.
func (c *Controller) isLookable(e *sourceEntry) bool {
	if e.cr == nil {
		return e.attached
	}
	s := e.front.Source(e.cr)
	return !s.Suspended && !s.Deleting
}

// sharesCluster reports whether an app's objects are in the cluster of a target, or may be: an app with a kubeconfig that has not run yet may be in
// any other cluster than own.
func (c *Controller) sharesCluster(a app.App, t *target) bool {
	at := c.targets.at(a.Key)
	if a.Kubeconfig.IsSet() && at == c.targets.own {
		return t != at || a.Kubeconfig.IsNamed() // which may be own by another name
	}
	return at.isSame(t)
}

// peerElsewhere has the prunes of other engines go on that wait for an app which has ended a run.
func (c *Controller) peerElsewhere(key app.Key) {
	at := c.targets.at(key)
	for _, t := range c.targets.all() {
		if t != at {
			t.engine.PeerChanged(key)
		}
	}
}
