package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// lookAgain is how often a command asks whether the record of a released app is gone: the controller's last act, one request.
const lookAgain = 500 * time.Millisecond

// FollowMove follows how objects move from another controller to truce, by watches of their kinds where they lie; or back, until the record
// is gone that says what is truce's.
func (c *Cluster) FollowMove(ctx context.Context, key app.Key, objects []report.ListedObject, seen func(moved, all int) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := c.neutral(ctx, key)
	if err != nil {
		return err
	}
	back := a.Adoption.Mode == policy.HandBack || a.Policy.Mode == policy.Observe && a.Adoption.Lost == "" // the controller may have ended the release already
	if back {
		a.Adoption.Mode = policy.HandBack
	} else if !a.Adoption.Takes() {
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s is not adopted: %s", key, strings.Join(a.Notes, "; "))}
	}
	m := &movement{adoption: a.Adoption, mode: a.Policy.Mode, waits: map[object.ID]string{}, there: map[object.ID]bool{}, news: make(chan struct{}, 1)}
	for _, o := range objects {
		m.waits[o.ID] = o.Version
	}
	if err := c.watchThere(ctx, a, m); err != nil {
		return err
	}
	over := func(context.Context) (bool, error) { return true, nil }
	if back {
		over = func(ctx context.Context) (bool, error) { return c.forgotten(ctx, key) }
	}
	return m.follow(ctx, over, seen)
}

// follow waits until all have moved, and what comes after it is over.
func (m *movement) follow(ctx context.Context, over func(context.Context) (bool, error), seen func(moved, all int) bool) error {
	for {
		moved, all := m.count()
		done, err := moved == all, error(nil)
		if done {
			if done, err = over(ctx); err != nil {
				return err
			}
		}
		if seen(moved, all) || done {
			return nil
		}
		if err := m.wait(ctx, moved == all); err != nil {
			return fmt.Errorf("%w; left: %s", err, m.left())
		}
	}
}

// forgotten reports whether no record is left of what an app has made.
func (c *Cluster) forgotten(ctx context.Context, key app.Key) (bool, error) {
	left, err := c.engine.Inventory.Load(ctx, key)
	return len(left.Entries) == 0, err
}

// neutral is an app as its custom resource says it now.
func (c *Cluster) neutral(ctx context.Context, key app.Key) (app.App, error) {
	there, err := c.read(ctx, key)
	if err != nil {
		return app.App{}, err
	}
	_, translate, err := registry.AppsFor(key)
	if err != nil {
		return app.App{}, err
	}
	how, err := c.process(ctx, key)
	if err != nil {
		return app.App{}, err
	}
	return c.app(ctx, how, translate, there.App), nil
}

// watchThere watches the objects in the cluster where the app has them. Of an app that is given back it needs none of that: the end of the record says
// that it is over, also to a user who may not look into that cluster.
func (c *Cluster) watchThere(ctx context.Context, a app.App, m *movement) error {
	there, leave, err := c.inClusterOf(ctx, a)
	context.AfterFunc(ctx, leave)
	switch {
	case err == nil:
		return there.watchMoving(ctx, m)
	case m.isBack():
		clear(m.waits)
		return nil
	}
	return err
}

// watchMoving returns when all first lists have come. What is in none of them has nothing that could move. Of an app that is given back, kinds that the
// user may not list are left out.
func (c *Cluster) watchMoving(ctx context.Context, m *movement) error {
	for i := range m.interests() {
		if _, err := c.objectClient().Resource(i.GVK); errors.Is(err, live.ErrUnknownKind) {
			continue
		} else if err != nil {
			return err
		}
		err := waitListed(ctx, watch.Watcher{Cluster: c.objectClient()}.Watch(ctx, i, m.saw))
		if err != nil && (!m.isBack() || !isRefused(err)) {
			return fmt.Errorf("watch %s: %w", i.GVK, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.waits, func(id object.ID, _ string) bool { return !m.there[id] })
	return nil
}

// movement is what is known of the objects of a passage.
type movement struct {
	adoption policy.Adoption
	mode     policy.Mode
	news     chan struct{}

	mu    sync.Mutex
	there map[object.ID]bool   // that were seen
	waits map[object.ID]string // that still have something to move, with their API version
	moved int
}

// isBack reports whether the objects go back to the other controller.
func (m *movement) isBack() bool { return m.adoption.Mode == policy.HandBack }

func (m *movement) interests() map[live.Interest]bool {
	out := map[live.Interest]bool{}
	for id, version := range m.waits {
		gvk := object.GVK{Group: id.Group, Version: version, Kind: id.Kind}
		out[live.Interest{GVK: gvk, Namespace: id.Namespace, Depth: live.Metadata}] = true
	}
	return out
}

func (m *movement) saw(ev live.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, waited := m.waits[ev.ID]; !waited {
		return
	}
	m.there[ev.ID] = !ev.Gone
	if !ev.Gone && !m.isOver(ev.Object) {
		return
	}
	delete(m.waits, ev.ID)
	if !ev.Gone {
		m.moved++
	}
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// isOver reports whether nothing of an object is left to move. One that cannot be read is not over: the controller says why.
func (m *movement) isOver(o object.Object) bool {
	owners, err := ownership.Entries(o)
	if err != nil {
		return false
	}
	in := decide.Input{Live: o, Owners: owners, Adoption: m.adoption, Policy: policy.Policy{Mode: m.mode}}
	return !in.MovesOwnership() && (m.isBack() || !ownership.ApplyEntry(owners, ownership.Manager).Empty())
}

func (m *movement) count() (moved, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved, m.moved + len(m.waits)
}

// wait returns at the next news. Where all objects have moved, only the record is left, which is asked for.
func (m *movement) wait(ctx context.Context, all bool) error {
	var again <-chan time.Time
	if all {
		again = time.After(lookAgain)
	}
	select {
	case <-m.news:
		return nil
	case <-again:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// left names what has not moved, some of it.
func (m *movement) left() string {
	const few = 3
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(m.waits), object.ID.Compare)
	var out []string
	for _, id := range ids[:min(few, len(ids))] {
		out = append(out, id.String())
	}
	switch {
	case len(ids) > few:
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), len(ids)-few)
	case len(ids) == 0:
		return "the record of what is truce's"
	}
	return strings.Join(out, ", ")
}
