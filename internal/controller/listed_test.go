package controller

import (
	"context"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// ending is a list that ends while a source is asked for.
type ending struct {
	live.Reader
	failing
	synced chan struct{}
	shows  func() object.Object
}

func (e *ending) Synced() <-chan struct{} { return e.synced }

// Get implements live.Reader.
func (e *ending) Get(context.Context, object.GVK, object.ID) (object.Object, error) {
	cr := e.shows()
	close(e.synced)
	return cr, nil
}

// TestASourceThatIsListedMeanwhileIsNoError: at a start, a chart is looked for before its HelmRepository is listed, and the list ends while the server is asked
// whether it is coming. It was created long ago.
func TestASourceThatIsListedMeanwhileIsNoError(t *testing.T) {
	front := before{&speaker{}}
	list := &ending{synced: make(chan struct{})}
	c := NewController(Options{Kinds: Kinds{Sources: map[object.GVK]dialect.Sources{{Kind: "HelmRepository"}: front}}}, reconcile.Dependencies{Live: list, Now: time.Now})
	own := app.SourceKey{Kind: "HelmRepository", Namespace: "shop", Name: "charts"}
	chart := own
	chart.Chart = "web"
	c.sourceWatches = []sourceWatch{{list, own.Kind}}
	c.sourceSet[chart] = &sourceEntry{front: front, base: own}
	list.shows = func() object.Object {
		cr := object.Object{"kind": own.Kind, "metadata": map[string]any{"namespace": own.Namespace, "name": own.Name, "creationTimestamp": "2020-01-02T03:04:05Z"}}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sourceSet[own] = &sourceEntry{front: front, cr: cr}
		return cr
	}
	if again := c.reconcileSource(t.Context(), chart); again == 0 {
		t.Error("there is no look for the chart again")
	}
	if err := c.sourceSet[chart].state.Err; err != nil {
		t.Errorf("reported: %v", err)
	}
}
