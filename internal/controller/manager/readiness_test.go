package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
)

// broken is a watcher of which one kind cannot be listed.
type broken struct{ kind string }

func (b broken) Watch(_ context.Context, i live.Interest, _ func(live.Event)) live.Watch {
	if i.GVK.Kind == b.kind {
		return fakeWatch{err: apierrors.NewInternalError(errors.New("conversion webhook failed"))}
	}
	synced := make(chan struct{})
	close(synced)
	return fakeWatch{synced: synced}
}

// fakeWatch is a watch in one state.
type fakeWatch struct {
	synced chan struct{}
	err    error
}

func (f fakeWatch) Synced() <-chan struct{} { return f.synced }
func (f fakeWatch) Err() error              { return f.err }
func (f fakeWatch) Failed() <-chan struct{} { return nil }

// TestAWatchThatHasEndedMakesNoInstanceUnready: a claimant that cannot be listed was taken out of the catalogue, or its CRD has gone.
func TestAWatchThatHasEndedMakesNoInstanceUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Watches{Watcher: broken{"Matchmaker"}}
		for gvk := range registry.AppDialects() {
			w.Watch(t.Context(), live.Interest{GVK: gvk}, nil)
		}
		if err := w.ready(); err != nil {
			t.Errorf("with all listed: %v", err)
		}
		i := live.Interest{GVK: object.GVK{Group: "example.org", Version: "v1", Kind: "Matchmaker"}}
		ctx, end := context.WithCancel(t.Context())
		w.Watch(ctx, i, nil)
		again, endAgain := context.WithCancel(t.Context())
		w.Watch(again, i, nil)
		if err := w.ready(); err == nil {
			t.Error("with a kind that cannot be listed it is ready")
		}
		end()
		synctest.Wait()
		if err := w.ready(); err == nil {
			t.Error("the end of an older watch of the same kind makes it ready")
		}
		endAgain()
		synctest.Wait()
		if err := w.ready(); err != nil {
			t.Errorf("after the end of that watch: %v", err)
		}
	})
}
