package controller

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// definitions are the CRDs.
var definitions = object.GVK{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// laps are the pauses after which an API group is looked at once more when a CRD of it has changed. The API server itself learns of
// that from a watch: what it serves, by discovery and by schema, follows within milliseconds, or within most of a second where there
// are several of it, and there is no sign of when. It allows itself two seconds (apiextensions-apiserver, justCreated).
var laps = []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second}

// definition is what is remembered of one CRD.
type definition struct {
	uid        string // empty while it is not there
	generation int64
	schema     digest // under which objects are read and written, as of the newest look; zero for never
}

// groups remembers the CRDs of the cluster.
type groups struct {
	mu    sync.Mutex
	seen  map[string]definition          // by name: as the watch reports it
	known map[string]definition          // by name: as was acted upon
	news  map[string]map[string]struct{} // by group: names that the watch has reported since
	laps  map[string]int                 // by group: looks since then
	rate  *rate.Limiter                  // of objects whose baseline is taken again
}

func newGroups(perSecond float64) *groups {
	return &groups{
		seen: map[string]definition{}, known: map[string]definition{}, news: map[string]map[string]struct{}{}, laps: map[string]int{},
		rate: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond))),
	}
}

// groupOf returns the API group of a CRD: its name is <plural>.<group>.
func groupOf(crd string) string {
	_, group, _ := strings.Cut(crd, ".")
	return group
}

// watchDefinitions watches every CRD's metadata: its generation moves with its spec. One that appears may be a claimant's.
func (t *target) watchDefinitions(ctx context.Context) {
	t.watcher.Watch(ctx, live.Interest{GVK: definitions, Depth: live.Metadata}, func(ev live.Event) {
		t.client.InvalidatedByWatch() // without the right to watch them, no event comes
		d := definition{uid: ev.Object.UID(), generation: ev.Object.Generation()}
		if ev.Gone {
			d = definition{}
		}
		group := groupOf(ev.ID.Name)
		t.groups.observe(ev.ID.Name, d)
		t.client.InvalidateGroup(group)
		t.engine.OnCRDChanged(group)
		t.redefined.Add(group)
		if !ev.Gone && t.claimants.missing(group) {
			t.claimWork.Add(group)
		}
	})
}

// observe stores what the watch reports of a CRD.
func (g *groups) observe(name string, d definition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[name] = d
	if _, had := g.known[name]; !had {
		g.known[name] = d
	}
	g.markChanged(name)
}

// retry puts a CRD among the news, since it could not be acted upon.
func (g *groups) retry(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.markChanged(name)
}

func (g *groups) markChanged(name string) {
	group := groupOf(name)
	if g.news[group] == nil {
		g.news[group] = map[string]struct{}{}
	}
	g.news[group][name] = struct{}{}
	g.laps[group] = 0
}

// nextCheck returns the pause until the next look at a group, and, at the last one, the CRDs that there is news of.
func (g *groups) nextCheck(group string) (time.Duration, []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.laps[group]++; g.laps[group] < len(laps) {
		return laps[g.laps[group]], nil
	}
	var names []string
	for name := range g.news[group] {
		names = append(names, name)
	}
	delete(g.news, group)
	delete(g.laps, group)
	return 0, names
}

// onDefinitionsChanged looks at an API group of which a CRD has changed: at once, and again when the server must have noticed, too.
func (t *target) onDefinitionsChanged(ctx context.Context, group string) time.Duration {
	t.client.InvalidateGroup(group)
	t.reserve(group)
	next, names := t.groups.nextCheck(group)
	for _, name := range names {
		if err := t.compareWithNewSchema(ctx, name); err != nil {
			t.c.Log.Warn("definition", "name", name, "error", err.Error())
			t.groups.retry(name)
			next = retryObject
		}
	}
	return next
}

// reserve runs the apps whose objects are of a type that the server serves no more, or serves again.
func (t *target) reserve(group string) {
	for _, gvk := range t.engine.KindsInGroup(group) {
		apps := t.engine.AppsWithProblems(gvk)
		if errors.Is(t.kinds.server.Served(gvk), live.ErrUnknownKind) {
			apps = t.engine.OnKindUnserved(gvk)
		}
		for _, key := range apps {
			t.c.EnqueueApp(key)
		}
	}
}

// onPermissionChanged implements kindListener: it runs the apps whose objects may be watched now, or no more.
func (t *target) onPermissionChanged(p watchKey) {
	t.c.recoverPanic("watch", p.gvk.String(), func() {
		for _, key := range t.engine.AppsWithObjects(live.Interest{GVK: p.gvk, Namespace: p.namespace}) {
			t.c.EnqueueApp(key)
		}
	})
}

// compareWithNewSchema acts on what has become of one CRD.
func (t *target) compareWithNewSchema(ctx context.Context, name string) error {
	before, now := t.groups.versions(name)
	changed := before.uid != now.uid || before.generation != now.generation
	ofApps := t.remote == nil && t.c.translates(groupOf(name))
	switch {
	case now.uid == "", !changed && (!ofApps || before.schema != digest{}):
		return nil
	case !ofApps && len(t.engine.KindsInGroup(groupOf(name))) == 0:
		t.groups.setHandled(name, now)
		return nil
	}
	crd, err := t.engine.Live.Get(ctx, definitions, object.ID{Group: definitions.Group, Kind: definitions.Kind, Name: name})
	if errors.Is(err, live.ErrNotFound) {
		return nil // the watch is about to report it
	}
	if err != nil {
		return err
	}
	if ofApps {
		t.c.lacks(crd)
	}
	now.schema = schemaOf(crd)
	t.groups.setHandled(name, now)
	if changed && before.schema != now.schema {
		t.retakeBaselines(crd)
	}
	return nil
}

// retakeBaselines has each object of a kind judged under its new schema, spread over time.
func (t *target) retakeBaselines(crd object.Object) {
	group, _ := crd.At("spec", "group").(string)
	kind, _ := crd.At("spec", "names", "kind").(string)
	ids := t.engine.RetakeBaselines(group, kind)
	for i, wait := range reserveDelays(t.groups.rate, time.Now(), len(ids)) {
		t.objects.AddAfter(ids[i], wait)
	}
	t.c.Log.Info("definition", "name", crd.Name(), "changed", "its objects are judged again, under the new schema", "objects", len(ids))
}

// reserveDelays returns when each of n objects may have its turn, from now on.
func reserveDelays(l *rate.Limiter, now time.Time, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = l.ReserveN(now, 1).DelayFrom(now)
	}
	return out
}

// versions returns what was last acted upon, and what is to be acted upon.
func (g *groups) versions(name string) (before, now definition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[name], g.seen[name]
}

func (g *groups) setHandled(name string, d definition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[name] = d
}

// schemaOf hashes what of a CRD decides on how its objects are read and written. Printer columns and the certificate of a
// conversion webhook do not.
func schemaOf(crd object.Object) digest {
	list, _ := crd.At("spec", "versions").([]any)
	versions := make([]any, 0, len(list))
	for _, v := range list {
		m, _ := v.(map[string]any)
		versions = append(versions, []any{m["name"], m["served"], m["storage"], m["schema"], m["subresources"]})
	}
	return digestOf(object.Object{
		"versions": versions, "scope": crd.At("spec", "scope"), "conversion": crd.At("spec", "conversion", "strategy"),
		"preserve": crd.At("spec", "preserveUnknownFields"),
	})
}

// translates reports whether a group has custom resources that ask for apps.
func (c *Controller) translates(group string) bool {
	for gvk := range c.Kinds.Apps {
		if gvk.Group == group {
			return true
		}
	}
	return false
}
