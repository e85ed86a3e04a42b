package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// claimsConfig is the ConfigMap in the controller's home whose keys are files of claims.
const claimsConfig = "truce-claims"

var configMaps = object.GVK{Version: "v1", Kind: "ConfigMap"}

// catalogue returns what claimants are recognised by at present: the last catalogue that could be read. The channel is closed when another one
// replaces it.
func (c *Controller) catalogue() (*claim.Catalogue, <-chan struct{}) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.claims, c.replaced
}

func (c *Controller) setCatalogue(next *claim.Catalogue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.replaced)
	c.claims, c.replaced = next, make(chan struct{})
}

// watchCatalogue keeps the catalogue in step with the ConfigMap, and returns when that has been read. A malformed one is reported, and changes nothing; it
// does not return before one that can be read, or none, follows it: what the users' claims cede is not known.
func (c *Controller) watchCatalogue(ctx context.Context) {
	id := object.ID{Kind: configMaps.Kind, Namespace: c.Home(c.Cluster.Namespace()), Name: claimsConfig}
	var known, malformed atomic.Bool // one could be read; the newest could not
	read := make(chan struct{}, 1)
	w := c.Watcher.Watch(ctx, live.Interest{GVK: configMaps, Namespace: id.Namespace, Name: id.Name, Depth: live.Full}, func(ev live.Event) {
		if ev.ID != id {
			return
		}
		o := ev.Object
		if ev.Gone {
			o = nil
		}
		next, err := withConfig(c.Catalogue, o)
		if malformed.Store(err != nil); err != nil {
			c.refuseClaims(ev.Object, err, known.Load())
			return
		}
		known.Store(true)
		c.setCatalogue(next)
		for _, t := range c.targets.all() {
			t.claimWork.Add(changedCatalogue)
		}
		select {
		case read <- struct{}{}:
		default: // it is known that there is one
		}
	})
	slow := warnIfSlow(ctx, c.Log, w, "users' claims are not known yet: nothing is corrected before they are", "object", id.String())
	defer slow.Stop()
	select {
	case <-w.Synced():
	case <-ctx.Done():
	}
	if malformed.Load() && !known.Load() {
		select {
		case <-read:
		case <-ctx.Done():
		}
	}
	known.Store(true)
}

// withConfig is the catalogue with the files of a ConfigMap, in the order of their names; an error names the file and the line.
func withConfig(c *claim.Catalogue, o object.Object) (*claim.Catalogue, error) {
	data, _ := o.At("data").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(data)) {
		text, _ := data[name].(string)
		next, err := c.With("ConfigMap "+o.Namespace()+"/"+o.Name()+" "+name, []byte(text))
		if err != nil {
			return nil, err
		}
		c = next
	}
	return c, nil
}

// refuseClaims reports a malformed ConfigMap, on it and in the log. Known says that earlier claims hold.
func (c *Controller) refuseClaims(o object.Object, cause error, known bool) {
	meanwhile := "the last good claims hold"
	if !known {
		meanwhile = "nothing is reconciled until it is corrected or deleted"
	}
	c.Log.Warn("claims refused: "+meanwhile, "error", cause.Error())
	text := fmt.Sprintf("%v; %s", cause, meanwhile)
	c.enqueueEvent(notify.Message{
		Event: notify.Event{Severity: notify.Error, Reason: "ClaimsRefused", Text: text}, About: o.ID(), APIVersion: "v1", UID: o.UID(), At: time.Now(),
	}, o.ResourceVersion())
}
