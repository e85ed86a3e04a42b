package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// failing is a watcher of kinds that never come to a list.
type failing struct {
	why   error
	begun []context.Context
}

func (f *failing) Watch(ctx context.Context, _ live.Interest, _ func(live.Event)) live.Watch {
	f.begun = append(f.begun, ctx)
	return f
}

func (f *failing) Synced() <-chan struct{} { return nil }
func (f *failing) Err() error              { return f.why }
func (f *failing) Failed() <-chan struct{} { return nil }

// answering is a server that answers for every kind of a namespace alike.
type answering struct{ why error }

func (a *answering) Served(object.GVK) error     { return a.why }
func (a *answering) ClusterWide(object.GVK) bool { return false }
func (a *answering) Learn([]object.GVK)          {}

func TestNobodyWaitsForClaimantsThatCannotBeListed(t *testing.T) {
	kind := object.GVK{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	unknown := fmt.Errorf("%s: %w", kind, live.ErrUnknownKind)
	for name, c := range map[string]struct {
		why     error
		dropped bool
	}{
		"a kind that is found not to be served": {unknown, true},
		"a kind that we may not list":           {apierrors.NewForbidden(schema.GroupResource{}, "", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			f, server := &failing{why: c.why}, &answering{errors.New("no connection")}
			w := claimants{
				turn: make(chan struct{}, 1), again: newQueue[string]("again", nil),
				watcher: f, server: server, log: slog.New(slog.DiscardHandler), places: cluster.Namespaces{"shop"},
			}
			w.begin(t.Context(), reconcile.NewClaims(claim.Builtin()), []object.GVK{kind})
			server.why = c.why
			w.wait(t.Context()) // returns
			if w.missing(kind.Group) != c.dropped || (f.begun[0].Err() != nil) != c.dropped {
				t.Errorf("missing: %t, ended: %v, want %t for both", w.missing(kind.Group), f.begun[0].Err(), c.dropped)
			}
			if again := w.again.Len() == 1; again != c.dropped {
				t.Errorf("asked for again: %t", again)
			}
			server.why = nil // its CRD has come, or has been there all the time
			w.revisit(kind.Group)
			if again := len(f.begun) == 2; again != c.dropped {
				t.Errorf("watched %d times", len(f.begun))
			}
		})
	}
}

// breaking is a watcher of kinds that are listed at once, but for one.
type breaking struct {
	listed
	kind  string
	begun chan context.Context
}

func (b *breaking) Watch(ctx context.Context, i live.Interest, _ func(live.Event)) live.Watch {
	if i.GVK.Kind != b.kind {
		return &b.listed
	}
	b.begun <- ctx
	return &failing{why: apierrors.NewInternalError(errors.New("conversion webhook failed"))}
}

const matchmakers = `
claims:
- id: matchmaker
  who: our matchmaker
  evidence: [{object: Matchmaker.example.org, versions: [v1], refers: spec.targetRef}]
  on: [GameServer.example.org]
  paths: [spec.replicas]
  do: cede
  text: It scales game servers.
`

// TestAnotherCatalogueEndsTheWaitForClaimantsThatCannotBeListed: the API server answers 500 to each list of a kind, and the user takes the kind out again.
func TestAnotherCatalogueEndsTheWaitForClaimantsThatCannotBeListed(t *testing.T) {
	w := &breaking{kind: "Matchmaker", begun: make(chan context.Context, 1)}
	c := NewController(Options{Watcher: w, Settings: Settings{Log: slog.New(slog.DiscardHandler)}}, reconcile.Dependencies{})
	own := c.targets.own
	own.claimants.server = &answering{}
	broken, err := c.Catalogue.With("mine.yaml", []byte(matchmakers))
	if err != nil {
		t.Fatal(err)
	}
	c.setCatalogue(broken)
	recognised, covered := make(chan struct{}), make(chan struct{})
	go func() {
		own.recognise(t.Context())
		close(recognised)
	}()
	watched := <-w.begun
	own.claimants.turn <- struct{}{} // all are watched
	<-own.claimants.turn
	go func() {
		own.claimants.wait(t.Context()) // as an app does whose namespace is new
		close(covered)
	}()
	c.setCatalogue(c.Catalogue)
	late, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for what, ended := range map[string]<-chan struct{}{"the catalogue": recognised, "an app": covered, "the watch": watched.Done()} {
		select {
		case <-ended:
		case <-late.Done():
			t.Errorf("%s waits for a kind that the catalogue no longer has", what)
		}
	}
	if !t.Failed() && own.engine.Catalogue() != c.Catalogue {
		t.Error("the engine judges by another catalogue")
	}
}
