package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
)

// Resource is where a kind is served.
type Resource struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
	Verbs      []string
}

const (
	askAgain  = time.Second      // an answer of "not served", or an error, holds so long
	askSeldom = 5 * time.Minute  // an answer of "not served" holds so long at most, where a watch of CRDs invalidates it
	askWithin = 10 * time.Second // the server's own limit for an aggregated API is longer, and no caller should wait for a dead one
)

// discoverer asks the server what it serves: one apiVersion, or, where the server supports it, all of it at once.
type discoverer interface {
	discovery.ServerResourcesInterfaceWithContext
	discovery.AggregatedDiscoveryInterfaceWithContext
}

// kinds remembers discovery, one group and version at a time: a broken aggregated API makes no other kinds unknown,
// and a slow one delays no others.
type kinds struct {
	disco discoverer
	clock clock.PassiveClock

	mu      sync.Mutex // guards what follows; never held while the server is asked
	groups  map[string]*group
	watched bool // InvalidateGroup is called when a CRD changes

	all offers
}

// group is what is known of one apiVersion; guarded by kinds.mu. A kind that is known needs no request, whatever is being asked.
type group struct {
	kinds  map[string]Resource
	err    error         // of the newest question
	asked  time.Time     // zero for never
	holds  time.Duration // how long the newest answer holds for kinds that are not known
	asking chan struct{} // closed when the question under way is answered, which its other callers share; nil for none
}

func newKinds(d discoverer, c clock.PassiveClock) *kinds {
	return &kinds{disco: d, clock: c, groups: map[string]*group{}, all: offers{clock: c}}
}

// Resource returns where the kind is served. It asks the server for what is not known yet, at most once a second for each
// apiVersion, and for at most 10 s. live.ErrUnknownKind is the server's answer; every other error
// means that it is not known: live.ErrUnanswered or live.ErrDoubtful.
func (c *Client) Resource(gvk object.GVK) (Resource, error) { return c.kinds.resource(gvk) }

// Invalidate forgets what is known of an apiVersion, after a CRD changed.
func (c *Client) Invalidate(apiVersion string) {
	c.kinds.all.forget()
	c.kinds.mu.Lock()
	defer c.kinds.mu.Unlock()
	delete(c.kinds.groups, apiVersion)
}

// InvalidatedByWatch says that InvalidateGroup is called from now on when a CRD changes: an answer of "not served" holds twice as long each
// time it is given again, up to five minutes. Kinds of an aggregated API, which no CRD announces, are found that much later.
func (c *Client) InvalidatedByWatch() {
	c.kinds.mu.Lock()
	defer c.kinds.mu.Unlock()
	c.kinds.watched = true
}

// InvalidateGroup forgets what is known of every version of an API group, after one of its CRDs changed.
func (c *Client) InvalidateGroup(name string) {
	c.kinds.all.forget()
	c.kinds.mu.Lock()
	defer c.kinds.mu.Unlock()
	maps.DeleteFunc(c.kinds.groups, func(apiVersion string, _ *group) bool { return strings.HasPrefix(apiVersion, name+"/") })
}

func (k *kinds) resource(gvk object.GVK) (Resource, error) {
	if !servable(gvk) {
		return Resource{}, fmt.Errorf("%s: %w", gvk, live.ErrUnknownKind)
	}
	for {
		k.mu.Lock()
		g := k.group(gvk.APIVersion())
		_, known := g.kinds[gvk.Kind]
		if known || g.asking == nil && !k.isOpen(g) {
			defer k.mu.Unlock()
			return g.resource(gvk)
		}
		if g.asking == nil {
			g.asking = make(chan struct{})
			k.mu.Unlock()
			return k.discover(g, gvk)
		}
		asking := g.asking
		k.mu.Unlock()
		<-asking
	}
}

// discover asks the server, and ends the group's question.
func (k *kinds) discover(g *group, gvk object.GVK) (Resource, error) {
	served, err := k.ask(gvk)
	k.mu.Lock()
	defer k.mu.Unlock()
	g.learn(served, err)
	k.hold(g)
	close(g.asking)
	g.asking = nil
	return g.resource(gvk)
}

// resource is the answer from what is known. The caller holds the lock of all kinds.
func (g *group) resource(gvk object.GVK) (Resource, error) {
	if r, ok := g.kinds[gvk.Kind]; ok {
		return r, nil
	}
	if g.err != nil {
		return Resource{}, undiscovered(fmt.Errorf("discover %s: %w", gvk.APIVersion(), g.err))
	}
	return Resource{}, fmt.Errorf("%s: %w", gvk, live.ErrUnknownKind)
}

// undiscovered returns an error that says what is to be expected of another try. Also what no answer came to in time is not answered.
func undiscovered(err error) error {
	if IsDoubtful(err) {
		return live.Doubted(err)
	}
	return live.Unanswered(err)
}

// isOpen reports whether an apiVersion's kinds that are not known may be asked for. The caller holds mu.
func (k *kinds) isOpen(g *group) bool {
	return g.asked.IsZero() || k.clock.Now().Sub(g.asked) >= g.holds
}

// hold sets how long an answer that has just come holds. The caller holds mu.
func (k *kinds) hold(g *group) {
	g.asked = k.clock.Now()
	if !k.watched || g.err != nil || g.holds == 0 {
		g.holds = askAgain
		return
	}
	g.holds = min(2*g.holds, askSeldom)
}

// servable reports whether the names can be a part of a request's path at all: they come from Git.
func servable(gvk object.GVK) bool {
	return gvk.Kind != "" && len(validation.IsDNS1123Label(gvk.Version)) == 0 &&
		(gvk.Group == "" || len(validation.IsDNS1123Subdomain(gvk.Group)) == 0)
}

// group returns what is known of an apiVersion. The caller holds mu.
func (k *kinds) group(apiVersion string) *group {
	g := k.groups[apiVersion]
	if g == nil {
		g = &group{}
		k.groups[apiVersion] = g
	}
	return g
}

// learn takes in an answer; an error changes nothing of what was known.
func (g *group) learn(served map[string]Resource, err error) {
	g.err = err
	if err == nil {
		g.kinds = served
	}
}

func (k *kinds) ask(gvk object.GVK) (map[string]Resource, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	list, err := k.disco.ServerResourcesForGroupVersionWithContext(ctx, gvk.APIVersion())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return resourcesByKind(schema.GroupVersion{Group: gvk.Group, Version: gvk.Version}, list), nil
}

// resourcesByKind is what a list says of the kinds themselves, without their subresources.
func resourcesByKind(gv schema.GroupVersion, list *metav1.APIResourceList) map[string]Resource {
	served := make(map[string]Resource, len(list.APIResources))
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			served[r.Kind] = newResource(gv, r)
		}
	}
	return served
}

func newResource(gv schema.GroupVersion, r metav1.APIResource) Resource {
	return Resource{GVR: gv.WithResource(r.Name), Namespaced: r.Namespaced, Verbs: slices.Clone(r.Verbs)}
}
