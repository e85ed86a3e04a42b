package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// TestAnAppThatIsDeletedReadsWhatItMayNotWatch: no watch reports that the object which it waits for is gone.
func TestAnAppThatIsDeletedReadsWhatItMayNotWatch(t *testing.T) {
	never, listed := &failing{why: apierrors.NewForbidden(schema.GroupResource{}, "", nil)}, handed{make(chan struct{}), make(chan func(live.Event), 1)}
	close(listed.synced)
	for name, s := range map[string]struct {
		watcher live.Watcher
		read    bool
	}{"a kind that may not be listed": {never, true}, "a kind that is listed": {listed, false}} {
		c, _, _ := speaking(t)
		c.targets.own.watcher = s.watcher
		key := app.Key{Kind: "Kustomization", Name: "web"}
		id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "cm"}
		c.terminations.all = map[app.Key]*termination{key: {left: map[object.ID]string{id: "u"}}}
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			c.watchTermination(ctx, key, watchKey{configMaps, "other"})
			time.Sleep(retryObject - time.Second)
			if c.apps.Len() != 0 {
				t.Errorf("%s: the app looks again too soon", name)
			}
			time.Sleep(2 * time.Second)
			if read := c.apps.Len() == 1; read != s.read {
				t.Errorf("%s: the app looks whether its objects are gone: %t", name, read)
			}
			end()
		})
	}
}
