package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func (c *Cluster) watcher() live.Watcher { return watch.Watcher{Cluster: c.cluster} }

// Follow keeps the summaries of a namespace's apps, by watches of their custom resources and of the objects that bear our label.
func (c *Cluster) Follow(ctx context.Context, namespace string, seen func([]Summary) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	published, err := instance.ListInstances(ctx, c.cluster, namespace)
	if err != nil {
		return err
	}
	b := &summaryCache{
		namespace: namespace, published: published, assessors: c.engine.Health, news: make(chan struct{}, 1),
		apps: map[app.Key]object.Object{}, health: map[string]map[object.ID]assessed{}, watches: map[object.GVK]live.Watch{}, closed: map[object.GVK]string{},
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
		switch served, err := c.serves(gvk); {
		case err != nil:
			return err
		case !served:
			continue
		}
		within, end := context.WithCancel(ctx)
		context.AfterFunc(ctx, end)
		err := waitListed(ctx, c.watcher().Watch(within, live.Interest{GVK: gvk, Namespace: b.namespace, Depth: live.Full}, b.seenApp))
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

// followObjects puts the kinds of the apps' objects under watch. What is in one that cannot be listed is not known until it can be.
func (c *Cluster) followObjects(ctx context.Context, b *summaryCache) error {
	var begun []object.GVK
	for _, gvk := range b.kinds() {
		if b.watches[gvk] != nil {
			continue
		}
		if _, err := c.cluster.Resource(gvk); errors.Is(err, live.ErrUnknownKind) {
			continue
		} else if err != nil {
			return err
		}
		b.watches[gvk] = c.watcher().Watch(ctx, live.Interest{GVK: gvk, Selector: desired.PartOf, Depth: live.DepthOf(gvk)}, b.seenObject)
		begun = append(begun, gvk)
	}
	failing, endFailing := context.WithTimeout(ctx, failingWithin)
	defer endFailing()
	silent, endSilent := context.WithTimeoutCause(ctx, silentWithin, fmt.Errorf("no answer within %s", silentWithin))
	defer endSilent()
	for _, gvk := range begun {
		w := b.watches[gvk]
		err := awaitObjects(failing, silent, w)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			b.refuse(ctx, gvk, "you may not list "+gvk.Kind+" in the whole cluster")
		case apierrors.IsUnauthorized(err), ctx.Err() != nil:
			return fmt.Errorf("list %s: %w", gvk, err)
		default:
			b.refuse(ctx, gvk, gvk.Kind+" cannot be listed: "+redact.MaskText(cmp.Or(w.Err(), context.Cause(silent), err).Error()))
		}
	}
	return nil
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
	namespace string
	assessors map[health.Rules]health.Assessor
	news      chan struct{}
	watches   map[object.GVK]live.Watch // of objects
	published []instance.Instance       // what controllers have written down of themselves

	mu     sync.Mutex
	apps   map[app.Key]object.Object
	health map[string]map[object.ID]assessed // by mark
	closed map[object.GVK]string             // kinds that are not listed, and why
}

// refuse notes why nothing is seen of a kind, until its watch has listed it or ctx ends.
func (b *summaryCache) refuse(ctx context.Context, gvk object.GVK, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed[gvk] = why
	listed := b.watches[gvk].Synced()
	go func() {
		select {
		case <-listed:
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.closed, gvk)
			b.publish()
		case <-ctx.Done():
		}
	}()
}

func (b *summaryCache) seenApp(ev live.Event) {
	if b.namespace != "" && ev.ID.Namespace != b.namespace {
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

// kinds are those of all objects that the apps list as theirs, and whose health is not in the status, as it is of an Application.
func (b *summaryCache) kinds() []object.GVK {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[object.GVK]bool{}
	var out []object.GVK
	for _, cr := range b.apps {
		if isElsewhere(cr) || cr.GVK() == registry.Applications {
			continue
		}
		for _, e := range registry.Commands()[cr.GVK()].Summarize(cr).Objects {
			gvk := object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}
			if !seen[gvk] {
				seen[gvk] = true
				out = append(out, gvk)
			}
		}
	}
	return out
}
