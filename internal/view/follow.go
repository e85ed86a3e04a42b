package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func (c *Cluster) watcher() live.Watcher { return watch.Watcher{Cluster: c.cluster} }

// Follow keeps the summaries of apps, by watches of their custom resources and of the objects that bear our label: of those of a namespace, or of the one
// that the key names whole, and of no other then.
func (c *Cluster) Follow(ctx context.Context, of app.Key, seen func([]Summary) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	published, err := instance.ListInstances(ctx, c.cluster, of.Namespace)
	if err != nil {
		return err
	}
	b := &summaryCache{
		of: of, published: published, assessors: c.engine.Health, news: make(chan struct{}, 1),
		apps: map[app.Key]object.Object{}, health: map[string]map[object.ID]assessed{}, watches: map[watched]live.Watch{}, closed: map[watched]string{}, narrow: map[object.GVK]bool{},
	}
	if err := c.followApps(ctx, b); err != nil {
		return err
	}
	for {
		if err := c.followObjects(ctx, b); err != nil {
			return err
		}
		if seen(b.summaries()) {
			return nil
		}
		select {
		case <-b.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followApps puts the kinds of apps under watch that the user may list.
func (c *Cluster) followApps(ctx context.Context, b *summaryCache) error {
	dialects := 0
	var refused error
	for gvk := range registry.AppDialects() {
		if b.of.Kind != "" && b.of.Kind != gvk.Kind {
			continue
		}
		switch served, err := c.serves(gvk); {
		case err != nil:
			return err
		case !served:
			continue
		}
		within, end := context.WithCancel(ctx)
		context.AfterFunc(ctx, end)
		err := waitListed(ctx, c.watcher().Watch(within, live.Interest{GVK: gvk, Namespace: b.of.Namespace, Name: b.of.Name, Depth: live.Full}, b.seenApp))
		if c.refused.note(gvk, err) {
			end()
			refused = err
			continue
		}
		if err != nil {
			end()
			return fmt.Errorf("list %s: %w", gvk, err)
		}
		dialects++
	}
	if dialects == 0 && refused != nil {
		return c.refused.none(refused)
	}
	if dialects == 0 {
		return errNoDialect
	}
	return nil
}

// errNoDialect says that the cluster knows no kind of app at all.
var errNoDialect = errors.New("the cluster knows neither Kustomization, HelmRelease nor Application: are truce's, Flux's or Argo CD's CRDs installed?")

func (c *Cluster) serves(gvk object.GVK) (bool, error) {
	_, err := c.cluster.Resource(gvk)
	if errors.Is(err, live.ErrUnknownKind) {
		return false, nil
	}
	return err == nil, err
}

// waitListed waits for a watch's first list. That it may not be listed at all is the answer then, not a reason to wait.
func waitListed(ctx context.Context, w live.Watch) error {
	return live.AwaitListed(ctx, w, isRefused)
}

func isRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// For how long the lists of the apps' objects are waited for, before the apps are shown without those that have not come. A list of many objects, or of a
// busy server, takes its time; one that fails again and again is no answer to wait for.
const (
	failingWithin = 5 * time.Second  // of a list that fails
	silentWithin  = 45 * time.Second // of one that does not answer
)

// followObjects puts the kinds of the apps' objects under watch: each in the whole cluster, or in the objects' namespaces where the user may not list it there.
// What is in one that cannot be listed is not known until it can be.
func (c *Cluster) followObjects(ctx context.Context, b *summaryCache) error {
	failing, endFailing := context.WithTimeout(ctx, failingWithin)
	defer endFailing()
	silent, endSilent := context.WithTimeoutCause(ctx, silentWithin, fmt.Errorf("no answer within %s", silentWithin))
	defer endSilent()
	for {
		narrowed := false
		begun, err := c.watchObjects(ctx, b)
		if err != nil {
			return err
		}
		for _, w := range begun {
			err := awaitObjects(failing, silent, b.watches[w])
			switch {
			case err == nil:
			case apierrors.IsForbidden(err) && b.divide(w):
				narrowed = true
			case apierrors.IsForbidden(err):
				b.refuse(ctx, w, "you may not list "+w.Kind+" in "+w.place())
			case apierrors.IsUnauthorized(err), ctx.Err() != nil:
				return fmt.Errorf("list %s: %w", w.GVK, err)
			default:
				b.refuse(ctx, w, w.Kind+" cannot be listed: "+redact.MaskText(cmp.Or(b.watches[w].Err(), context.Cause(silent), err).Error()))
			}
		}
		if !narrowed {
			return nil
		}
	}
}

// watchObjects begins the watches that the apps' objects need and that are not there, and says which.
func (c *Cluster) watchObjects(ctx context.Context, b *summaryCache) ([]watched, error) {
	var begun []watched
	mark := desired.PartOf
	if b.of.Name != "" {
		mark += "=" + desired.PartOfValue(b.of)
	}
	for _, w := range b.wanted() {
		if b.watches[w] != nil {
			continue
		}
		if _, err := c.cluster.Resource(w.GVK); errors.Is(err, live.ErrUnknownKind) {
			continue
		} else if err != nil {
			return nil, err
		}
		b.watches[w] = c.watcher().Watch(ctx, live.Interest{GVK: w.GVK, Namespace: w.namespace, Selector: mark, Depth: live.DepthOf(w.GVK)}, b.seenObject)
		begun = append(begun, w)
	}
	return begun, nil
}

// awaitObjects waits for a watch's first list. One that has failed by the end of failing is not waited for any longer, and neither is one that fails after that.
func awaitObjects(failing, silent context.Context, w live.Watch) error {
	err := live.AwaitListed(failing, w, isRefused)
	if err == nil || isRefused(err) || w.Err() != nil {
		return err
	}
	return live.AwaitListed(silent, w, func(error) bool { return true })
}

// summaryCache is what is known of the apps.
type summaryCache struct {
	of        app.Key // without a name all of its namespace, or of all
	assessors map[health.Rules]health.Assessor
	news      chan struct{}
	watches   map[watched]live.Watch // of objects
	narrow    map[object.GVK]bool    // kinds that are watched in the objects' namespaces alone
	published []instance.Instance    // what controllers have written down of themselves

	mu     sync.Mutex
	apps   map[app.Key]object.Object
	health map[string]map[object.ID]assessed // by mark
	closed map[watched]string                // what is not listed, and why
}

// watched is a kind of objects, in one namespace or in the whole cluster.
type watched struct {
	object.GVK
	namespace string
}

func (w watched) place() string {
	if w.namespace == "" {
		return "the whole cluster"
	}
	return "namespace " + w.namespace
}

// watchOf says which watch shows an object that an app lists. Only the goroutine of Follow reads and writes narrow.
func (b *summaryCache) watchOf(e dialect.ListedObject) watched {
	w := watched{GVK: object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}}
	if b.narrow[w.GVK] {
		w.namespace = e.ID.Namespace
	}
	return w
}

// divide has a kind watched in the objects' namespaces, and reports whether that is another way than before: a kind without namespaces has none.
func (b *summaryCache) divide(w watched) bool {
	if w.namespace != "" || b.narrow[w.GVK] {
		return false
	}
	b.narrow[w.GVK] = true
	return slices.ContainsFunc(b.wanted(), func(next watched) bool { return next.GVK == w.GVK && next.namespace != "" })
}

// refuse notes why nothing is seen by a watch, until it has listed or ctx ends.
func (b *summaryCache) refuse(ctx context.Context, w watched, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed[w] = why
	listed := b.watches[w].Synced()
	go func() {
		select {
		case <-listed:
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.closed, w)
			b.publish()
		case <-ctx.Done():
		}
	}()
}

func (b *summaryCache) seenApp(ev live.Event) {
	if b.of.Namespace != "" && ev.ID.Namespace != b.of.Namespace || b.of.Name != "" && ev.ID.Name != b.of.Name {
		return
	}
	key := app.Key{Kind: ev.GVK.Kind, Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	b.mu.Lock()
	defer b.mu.Unlock()
	if ev.Gone {
		delete(b.apps, key)
	} else {
		b.apps[key] = ev.Object
	}
	b.publish()
}

func (b *summaryCache) seenObject(ev live.Event) {
	mark, _ := ev.Object.Label(desired.PartOf)
	b.mu.Lock()
	defer b.mu.Unlock()
	if ev.Gone {
		delete(b.health[mark], ev.ID)
		b.publish()
		return
	}
	if b.health[mark] == nil {
		b.health[mark] = map[object.ID]assessed{}
	}
	b.health[mark][ev.ID] = b.assess(ev)
	b.publish()
}

// assessed is an object's health by each of the rules that an app may ask for.
type assessed map[health.Rules]health.Status

func (b *summaryCache) assess(ev live.Event) assessed {
	if ev.Depth != live.Full {
		return nil // a kind without any health of its own works if it is there
	}
	out := assessed{}
	for by, rules := range b.assessors {
		out[by] = health.Explained(ev.Object, rules.Assess(ev.Object))
	}
	return out
}

// by returns the health by one of the rules.
func (a assessed) by(rules health.Rules) health.Status {
	if s, ok := a[rules]; ok {
		return s
	}
	return health.Status{Code: health.Healthy}
}

func (b *summaryCache) publish() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// wanted are the watches of all objects that the apps list as theirs, and whose health is not in the status, as it is of an Application.
func (b *summaryCache) wanted() []watched {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[watched]bool{}
	var out []watched
	for _, cr := range b.apps {
		if isElsewhere(cr) || cr.GVK() == registry.Applications {
			continue
		}
		for _, e := range registry.Commands()[cr.GVK()].Summarize(cr).Objects {
			if w := b.watchOf(e); !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}
