package cluster

import (
	"context"

	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// few is how many apiVersions are asked for one by one: the whole of what a server serves is two requests, and long.
const few = 2

// Learn finds out about many kinds at once, in two requests for the whole of what the server serves (aggregated discovery, KEP-3352),
// so that Resource then answers for each of them without a request. What it learns, an error too, holds as Resource's own
// answers do. It leaves to Resource a server that does not support it, and an apiVersion of which the server has no fresh answer itself.
func (c *Client) Learn(all []object.GVK) { c.kinds.learn(all) }

func (k *kinds) learn(all []object.GVK) {
	open := k.open(all)
	if len(open) <= few {
		return
	}
	lists, stale, err := k.askAll()
	if err == nil && lists == nil {
		return
	}
	// What has been invalidated meanwhile is another group by now, which was not discovered yet.
	for gv, g := range open {
		if stale[gv] == nil {
			g.addVersion(k, gv, lists[gv], err)
		}
	}
}

// open returns what may be asked for of the kinds' apiVersions.
func (k *kinds) open(all []object.GVK) map[schema.GroupVersion]*group {
	out := map[schema.GroupVersion]*group{}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, gvk := range all {
		gv := schema.GroupVersion{Group: gvk.Group, Version: gvk.Version}
		if out[gv] != nil || !servable(gvk) {
			continue
		}
		g := k.group(gvk.APIVersion())
		if _, known := g.kinds[gvk.Kind]; !known && k.isOpen(g) {
			out[gv] = g
		}
	}
	return out
}

// askAll returns nil and no error where the server does not support aggregated discovery.
func (k *kinds) askAll() (map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	_, lists, stale, err := k.disco.GroupsAndMaybeResourcesWithContext(ctx)
	return lists, stale, err
}

// addVersion adds what the whole server's answer says of one apiVersion: nothing, where it serves none of it.
func (g *group) addVersion(k *kinds, gv schema.GroupVersion, list *metav1.APIResourceList, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var served map[string]Resource
	if list != nil {
		served = resourcesByKind(gv, list)
	}
	g.learn(served, err)
	k.hold(g)
}
