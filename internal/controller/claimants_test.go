package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

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
