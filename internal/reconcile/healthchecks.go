package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// healthChecks are the objects by which an app is judged (app.App.HealthChecks). Those that are not its own are read as the app's account: when
// the app has run, and when a watch says that one of them has changed.
type healthChecks struct {
	mu    sync.Mutex
	all   []health.Check
	found map[object.ID]health.Status // of those that are not the app's own

	assessed bool // a run of this process has come to the objects, and has ended
	presumed bool // something was held before that, since the custom resource remembers that a check fails
}

// observeChecks finds out how the objects are by which the app is judged. That one is not well is no failure of the run: the dialect says what
// it means.
func (r *appRun) observeChecks(ctx context.Context) error {
	a, c := r.app, &r.state.checks
	if a.Policy.Mode != policy.Enforce {
		return nil
	}
	all := slices.Clone(a.HealthChecks)
	for i, check := range all {
		scope, err := r.engine.Scope.ScopeOf(ctx, check.GVK())
		if err != nil {
			return &stageError{report.ClusterFailed, err}
		}
		if scope == desired.ClusterWide {
			all[i].ID.Namespace = ""
		}
	}
	c.mu.Lock()
	c.all = all
	c.mu.Unlock()
	r.engine.follow(a.Key, r.engine.foreignChecks(a.Key))
	_, err := r.engine.readChecks(ctx, a, r.access)
	return err
}

// foreignChecks are those of an app's health checks that are about objects of others.
func (e *Engine) foreignChecks(key app.Key) []health.Check {
	c := &e.state(key).checks
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.all), func(check health.Check) bool { return e.ownObject(key, check.ID) != nil })
}

// ownObject returns what is known of an object if it is the app's own.
func (e *Engine) ownObject(key app.Key, id object.ID) *managedObject {
	if r := e.lookup(id); r != nil && r.ownedBy() == key {
		return r
	}
	return nil
}

// ReadChecks reads the objects of others by which an app is judged, and the hook that its release waits for.
func (e *Engine) ReadChecks(ctx context.Context, key app.Key) error {
	if err := e.readHook(ctx, key); err != nil {
		return err
	}
	a, err := e.appOf(key)
	if err != nil {
		return nil // it is being removed
	}
	access, err := e.accessOf(a)
	if err != nil {
		return err
	}
	if news, err := e.readChecks(ctx, a, access); err != nil || !news {
		return err
	}
	e.queue.AppChanged(key)
	e.failuresChanged(key)
	return nil
}

// readChecks reports whether the health of one of them has changed.
func (e *Engine) readChecks(ctx context.Context, a app.App, access tenancy.Access) (news bool, err error) {
	found := map[object.ID]health.Status{}
	for _, check := range e.foreignChecks(a.Key) {
		o, err := access.Live.Get(ctx, check.GVK(), check.ID)
		switch {
		case errors.Is(err, live.ErrNotFound):
			found[check.ID] = health.Status{Code: health.Missing, Message: "is not in the cluster"}
		case errors.Is(err, live.ErrUnanswered):
			return false, &stageError{report.ClusterFailed, err}
		case err != nil: // the account may not read it, or its kind is not served
			found[check.ID] = health.Status{Code: health.Unknown, Message: redact.MaskText(err.Error())}
		default:
			found[check.ID] = e.assess(rulesOf(a, check.ID), o)
		}
	}
	c := &e.state(a.Key).checks
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range found {
		was, known := c.found[id]
		news = news || was != s
		if c.found != nil && !known { // it was not listed
			e.failures.renew(a.Key, id, s.Code, e.Now())
		}
		e.failures.note(a.Key, id, s.Code, e.Now())
	}
	c.found = found
	return news, nil
}

// checkedObjects are the objects by which the app is judged, with their health, in the order of the custom resource.
func (e *Engine) checkedObjects(key app.Key) []report.Object {
	c := &e.state(key).checks
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []report.Object
	for _, check := range c.all {
		o := report.Object{ID: check.ID, Version: check.Version, Health: c.found[check.ID]}
		if own := e.ownObject(key, check.ID); own != nil {
			o = own.view()
		}
		out = append(out, o)
	}
	return out
}
