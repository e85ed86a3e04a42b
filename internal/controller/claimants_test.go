package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
			f, nobodyKnows := &failing{why: c.why}, true
			served := func(object.GVK) error {
				if nobodyKnows {
					return errors.New("no connection")
				}
				return c.why
			}
			var again []string
			w := claimants{
				turn:    make(chan struct{}, 1),
				again:   func(group string) { again = append(again, group) },
				watcher: f, learn: func([]object.GVK) {}, served: served, log: slog.New(slog.DiscardHandler),
				everywhere: func(object.GVK) bool { return false }, places: cluster.Namespaces{"shop"},
			}
			w.begin(t.Context(), reconcile.NewClaims(claim.Builtin()), []object.GVK{kind})
			nobodyKnows = false
			w.wait(t.Context()) // returns
			if w.missing(kind.Group) != c.dropped || (f.begun[0].Err() != nil) != c.dropped {
				t.Errorf("missing: %t, ended: %v, want %t for both", w.missing(kind.Group), f.begun[0].Err(), c.dropped)
			}
			if slices.Contains(again, kind.Group) != c.dropped {
				t.Errorf("asked for again: %q", again)
			}
			w.served = func(object.GVK) error { return nil } // its CRD has come, or has been there all the time
			w.revisit(kind.Group)
			if again := len(f.begun) == 2; again != c.dropped {
				t.Errorf("watched %d times", len(f.begun))
			}
		})
	}
}
