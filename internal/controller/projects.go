package controller

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/project"
)

// projects are the AppProjects in the namespaces that are worked for.
type projects struct {
	watches []live.Watch // complete before any worker starts

	mu       sync.RWMutex
	known    project.Known
	byKey    map[app.Key]project.Project
	settings map[string]projectSettings // by namespace
	// located are the clusters of the apps that name one, as their Secrets describe them.
	located map[app.Key]location
}

// projectSettings are what an Argo CD's settings say of the projects and Applications of a namespace.
type projectSettings struct {
	globals  []project.Global
	ignored  ignore.Rules
	problems []app.Problem // of ignored
}

// location is the cluster that an app names.
type location struct {
	by      identity.Kubeconfig // as the app's custom resource names it
	cluster project.Cluster
}

// errLocated ends a run of an app whose cluster has become known, or is another one: what its project permits is judged first.
var errLocated = errors.New("the app is bound again")

// watchProjects watches the projects that bound apps.
func (c *Controller) watchProjects(ctx context.Context) {
	c.projects.byKey = map[app.Key]project.Project{}
	c.projects.located = map[app.Key]location{}
	c.projects.settings = map[string]projectSettings{}
	if c.Kinds.Projects == nil {
		c.projects.known.State = project.Unserved
		return
	}
	gvk, name := c.Kinds.Projects.Settings()
	for _, namespace := range c.Namespaces.Each() { // first: they hold where there are no projects, too
		settings := live.Interest{GVK: gvk, Namespace: namespace, Name: name, Depth: live.Full}
		c.projects.watches = append(c.projects.watches, c.Watcher.Watch(ctx, settings, c.onProjectSettings))
	}
	for _, namespace := range c.Namespaces.Each() {
		i := live.Interest{GVK: c.Kinds.Projects.Kind(), Namespace: namespace, Depth: live.Full}
		c.projects.watches = append(c.projects.watches, c.Watcher.Watch(ctx, i, c.onProjectEvent))
	}
}

// awaitProjects binds the apps that were seen before it was known which projects there are, and again when more can be read.
func (c *Controller) awaitProjects(ctx context.Context) {
	for _, w := range c.projects.watches {
		err := live.AwaitListed(ctx, w, isPermanentWatchError)
		if err == nil || ctx.Err() != nil {
			continue
		}
		state := project.Refused
		if errors.Is(err, live.ErrUnknownKind) {
			state = project.Unserved
		}
		c.setProjectsState(state, err)
		if live.AwaitListed(ctx, w, func(error) bool { return false }) != nil {
			return // ctx has ended
		}
	}
	if len(c.projects.watches) > 0 && ctx.Err() == nil {
		c.setProjectsState(project.Listed, nil)
	}
}

func (c *Controller) setProjectsState(state project.State, err error) {
	c.projects.mu.Lock()
	c.projects.known.State, c.projects.known.Err = state, err
	c.projects.mu.Unlock()
	c.rebind("")
}

func (c *Controller) onProjectEvent(ev live.Event) {
	key := app.Key{Kind: ev.ID.Kind, Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	c.projects.mu.Lock()
	before, known := c.projects.byKey[key]
	if ev.Gone {
		delete(c.projects.byKey, key)
	} else {
		c.projects.byKey[key] = c.Kinds.Projects.Project(ev.Object)
	}
	if known && !ev.Gone && reflect.DeepEqual(before, c.projects.byKey[key]) { // its status or its annotations have changed, or it was listed again
		c.projects.mu.Unlock()
		return
	}
	c.projects.known.All = slices.Collect(maps.Values(c.projects.byKey))
	awaited, name := c.projects.known.State == project.Awaited, ev.ID.Name
	if c.projects.known.IsGlobal(ev.ID.Namespace, name) {
		name = ""
	}
	c.projects.mu.Unlock()
	if !awaited {
		c.rebind(name)
	}
}

func (c *Controller) onProjectSettings(ev live.Event) {
	var now projectSettings
	if !ev.Gone {
		now.globals = c.Kinds.Projects.Globals(ev.Object)
		now.ignored, now.problems = c.Kinds.Projects.Ignored(ev.Object)
	}
	c.projects.mu.Lock()
	same := reflect.DeepEqual(c.projects.settings[ev.ID.Namespace], now)
	c.projects.settings[ev.ID.Namespace] = now
	c.projects.known.Globals = nil
	for _, s := range c.projects.settings {
		c.projects.known.Globals = append(c.projects.known.Globals, s.globals...)
	}
	awaited := c.projects.known.State == project.Awaited
	c.projects.mu.Unlock()
	if !awaited && !same {
		c.rebind("")
	}
}

// bind applies to an app what its project and the flags of the controller demand.
func (c *Controller) bind(a app.App) app.App {
	c.projects.mu.RLock()
	defer c.projects.mu.RUnlock()
	if l := c.projects.located[a.Key]; a.Kubeconfig.IsNamed() && l.by == a.Kubeconfig {
		a = a.InCluster(l.cluster)
	}
	a = a.InProject(c.Tenancy.ProjectsFor(a.Key.Namespace, c.projects.known))
	if a.Member.Project != "" {
		s := c.projects.settings[a.ArgoNamespace()]
		a = a.Ignoring(s.ignored, s.problems)
	}
	return c.Tenancy.Bind(a)
}

// locate notes the cluster that an app names. Where that is news, the app is bound again, and runs then.
func (c *Controller) locate(a app.App, at project.Cluster) (news bool) {
	l := location{by: identity.Kubeconfig{ClusterServer: a.Kubeconfig.ClusterServer, ClusterName: a.Kubeconfig.ClusterName}, cluster: at}
	c.projects.mu.Lock()
	news = !reflect.DeepEqual(c.projects.located[a.Key], l)
	c.projects.located[a.Key] = l
	c.projects.mu.Unlock()
	if news {
		c.rebindWhere(func(e *appEntry) bool { return e.app.Key == a.Key })
	}
	return news
}

// forgetLocation forgets the cluster of an app that is gone.
func (c *Controller) forgetLocation(key app.Key) {
	c.projects.mu.Lock()
	defer c.projects.mu.Unlock()
	delete(c.projects.located, key)
}

// waitForProjects is the pause of an app while it is not known yet what its project permits; 0 where that is known.
func (c *Controller) waitForProjects(a app.App) time.Duration {
	c.projects.mu.RLock()
	defer c.projects.mu.RUnlock()
	if a.Member.Project == "" || c.projects.known.State != project.Awaited {
		return 0
	}
	return listingWait
}

// rebind binds the apps of a project again, and runs them; with an empty name all that have a project.
func (c *Controller) rebind(name string) {
	c.rebindWhere(func(e *appEntry) bool {
		return e.app.Member.Project != "" && (name == "" || e.app.Member.Project == name)
	})
}

func (c *Controller) rebindWhere(is func(*appEntry) bool) {
	var changed []app.App
	c.mu.Lock()
	for _, e := range c.appSet {
		if !is(e) {
			continue
		}
		cr := c.withResource(*e).cr
		if cr == nil {
			continue
		}
		e.app = withSyncRequest(c.bind(e.front.App(cr, c.Process)), e.order)
		e.due = time.Time{}
		changed = append(changed, e.app)
	}
	c.mu.Unlock()
	for _, a := range changed {
		c.attachSource(a.Key) // it may be permitted only now
		c.engineOf(a.Key).Supersede(a.Key)
		c.apps.Add(a.Key)
	}
}
