package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// claimsConfig is the ConfigMap in the controller's namespace whose keys are files of claims.
const claimsConfig = "truce-claims"

var configMaps = object.GVK{Version: "v1", Kind: "ConfigMap"}

// catalogue is what claimants are recognised by at present: the last one that could be read.
func (c *Controller) catalogue() *claim.Catalogue {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.claims
}

// watchCatalogue keeps the catalogue in step with the ConfigMap. A malformed one is told, and changes nothing.
func (c *Controller) watchCatalogue(ctx context.Context) {
	id := object.ID{Kind: configMaps.Kind, Namespace: c.Cluster.Namespace(), Name: claimsConfig}
	w := c.Watcher.Watch(ctx, live.Interest{GVK: configMaps, Namespace: id.Namespace, Name: id.Name, Depth: live.Full}, func(ev live.Event) {
		if ev.ID != id {
			return
		}
		o := ev.Object
		if ev.Gone {
			o = nil
		}
		next, err := withConfig(c.Catalogue, o)
		if err != nil {
			c.Log.Warn("claims refused: the last good ones hold", "error", err.Error())
			c.refuseClaims(ev.Object, err)
			return
		}
		c.mu.Lock()
		c.claims = next
		c.mu.Unlock()
		c.claimWork.Add(changedCatalogue)
	})
	select {
	case <-w.Synced():
	case <-ctx.Done():
	}
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

// refuseClaims writes an event about the ConfigMap.
func (c *Controller) refuseClaims(o object.Object, cause error) {
	note := fmt.Sprintf("%v; the last good claims hold", cause)
	ev := map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":  map[string]any{"generateName": o.Name() + "-", "namespace": o.Namespace()},
		"eventTime": c.Now().UTC().Format(metav1.RFC3339Micro), "type": "Warning", "reason": "ClaimsRefused",
		"note": note[:min(len(note), maxNote)], "action": "ReadClaims",
		"reportingController": "truce", "reportingInstance": "truce-controller",
		"regarding": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "name": o.Name(), "namespace": o.Namespace(), "uid": o.UID(), "resourceVersion": o.ResourceVersion(),
		},
	}
	select {
	case c.events <- &unstructured.Unstructured{Object: ev}:
	default:
		c.Log.Warn("event dropped: too many at once", "about", o.ID().String(), "reason", "ClaimsRefused")
	}
}
