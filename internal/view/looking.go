package view

import (
	"context"
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// lookingEngine is an engine that can write nothing, with what it has seen of the objects that others claim fields of.
type lookingEngine struct {
	*reconcile.Engine
	claimants []object.Object // of the whole cluster
	seen      *claimedObjects
}

// onlyLooking makes an engine for an app that knows the claims of the whole cluster as the controller does, or as much of them as the user may list, and
// can write nothing.
func (c *Cluster) onlyLooking(ctx context.Context, f fetchedSource, how *controllerSettings, a app.App) (lookingEngine, error) {
	looking := c.readOnly(f)
	found, err := claimantsFor(ctx, looking.Live, how, a)
	if err != nil {
		return lookingEngine{}, fmt.Errorf("claimants: %w", err)
	}
	claims, seen := reconcile.NewClaims(how.catalogue), &claimedObjects{Reader: looking.Live, newest: map[object.ID]object.Object{}}
	for _, o := range found {
		claims.OnEvent(o)
		seen.claims.Put(o.ID(), how.catalogue.Read(o))
	}
	looking.Live = seen
	looking.Identities = readonly.Identity{Access: tenancy.Access{Live: seen, Writer: looking.Writer, Rights: readonly.AnyRights{}}}
	if rights := c.rightsOf(ctx, how, a); rights != nil {
		looking.Identities = readonly.Identity{Access: tenancy.Access{Live: seen, Writer: looking.Writer, Rights: rights}}
	}
	if how.namespaces.Limited() && c.other == nil {
		looking.Foreign = instance.ForeignApps{Live: seen, Namespaces: how.namespaces}
	}
	engine := reconcile.NewEngine(looking, nil)
	engine.UseClaims(claims)
	return lookingEngine{Engine: engine, claimants: found, seen: seen}, nil
}

// claimedObjects reads for an engine, and remembers the newest answer about each object that has a claimant. What is said beside a
// difference has to be true of the same moment: where two controllers each set their own number, the next answer is another one.
type claimedObjects struct {
	live.Reader
	claims claim.Index // does not change while the engine reads

	mu     sync.Mutex
	newest map[object.ID]object.Object
}

// Get implements live.Reader.
func (s *claimedObjects) Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error) {
	o, err := s.Reader.Get(ctx, gvk, id)
	if err == nil {
		s.note(o)
	}
	return o, err
}

// List implements live.Reader.
func (s *claimedObjects) List(ctx context.Context, i live.Interest) ([]object.Object, error) {
	found, err := s.Reader.List(ctx, i)
	for _, o := range found {
		s.note(o)
	}
	return found, err
}

func (s *claimedObjects) note(o object.Object) {
	if len(s.claims.For(o.ID())) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest[o.ID()] = o
}

// of returns the object as it was compared.
func (s *claimedObjects) of(id object.ID) (object.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, known := s.newest[id]
	return o, known
}
