package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// unlisted is a watch that never comes to its first list.
type unlisted struct{ err error }

func (u unlisted) Watch(context.Context, live.Interest, func(live.Event)) live.Watch { return u }
func (u unlisted) Synced() <-chan struct{}                                           { return nil }
func (u unlisted) Err() error                                                        { return u.err }
func (u unlisted) Failed() <-chan struct{}                                           { return nil }

// deaf takes no note of what a watch brings.
type deaf struct{}

func (deaf) OnEvent(live.Event)     {}
func (deaf) OnRelist(live.Interest) {}

func (deaf) onWatchBegun(watchKey)   {}
func (deaf) onWatchAllowed(watchKey) {}
func (deaf) onWatchesChanged()       {}

// TestAKindThatIsNeverListedHoldsNoWorkerForEver: the app's own timeout may be an hour.
func TestAKindThatIsNeverListedHoldsNoWorkerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKinds(unlisted{errors.New("the API server has not answered within 1m5s")}, &answering{}, deaf{})
		k.objects, k.ctx = deaf{}, t.Context()
		err := k.Ensure(t.Context(), live.Interest{GVK: object.GVK{Group: "metrics.example", Version: "v1", Kind: "Value"}})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has not answered") {
			t.Errorf("got %v", err)
		}
	})
}
