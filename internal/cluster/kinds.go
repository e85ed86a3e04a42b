package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Resource is where a kind is served.
type Resource struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
	Verbs      []string
}

// askAgain is how long an answer of "not served" holds.
const askAgain = time.Second

// kinds remembers discovery, one group and version at a time: a broken aggregated API makes nobody else's kinds unknown.
type kinds struct {
	disco discovery.DiscoveryInterface
	now   func() time.Time

	mu     sync.Mutex
	groups map[string]group
}

type group struct {
	kinds map[string]Resource
	asked time.Time
}

func newKinds(d discovery.DiscoveryInterface, now func() time.Time) *kinds {
	return &kinds{disco: d, now: now, groups: map[string]group{}}
}

// Resource returns where the kind is served, asking the server for what is not known yet.
func (c *Client) Resource(gvk object.GVK) (Resource, error) { return c.kinds.resource(gvk) }

// Invalidate forgets what is known of an apiVersion, after a CRD changed.
func (c *Client) Invalidate(apiVersion string) {
	c.kinds.mu.Lock()
	defer c.kinds.mu.Unlock()
	delete(c.kinds.groups, apiVersion)
}

func (k *kinds) resource(gvk object.GVK) (Resource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g, known := k.groups[gvk.APIVersion()]
	r, ok := g.kinds[gvk.Kind]
	if !ok && (!known || k.now().Sub(g.asked) >= askAgain) {
		var err error
		if g, err = k.ask(gvk.APIVersion()); err != nil {
			return Resource{}, fmt.Errorf("discover %s: %w", gvk.APIVersion(), err)
		}
		k.groups[gvk.APIVersion()] = g
		r, ok = g.kinds[gvk.Kind]
	}
	if !ok {
		return Resource{}, fmt.Errorf("%s: %w", gvk, ErrUnknownKind)
	}
	return r, nil
}

func (k *kinds) ask(apiVersion string) (group, error) {
	g := group{kinds: map[string]Resource{}, asked: k.now()}
	list, err := k.disco.ServerResourcesForGroupVersion(apiVersion)
	if apierrors.IsNotFound(err) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return g, err
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			g.kinds[r.Kind] = newResource(gv, r)
		}
	}
	return g, nil
}

func newResource(gv schema.GroupVersion, r metav1.APIResource) Resource {
	return Resource{GVR: gv.WithResource(r.Name), Namespaced: r.Namespaced, Verbs: slices.Clone(r.Verbs)}
}
