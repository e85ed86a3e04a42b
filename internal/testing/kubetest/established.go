package kubetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// established bounds the wait for a definition. It ends at the first sign of it, so that only a server that is stuck takes so long.
const established = 3 * time.Minute

// Established waits until the server has accepted the definitions of these names and serves their kinds, which it does a moment later.
// `kubectl wait` for the condition would return before that, and fails when it reads a definition that has no condition yet.
func (c *Cluster) Established(t *testing.T, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), established)
	defer cancel()
	for _, name := range names {
		if err := c.established(ctx, name); err != nil {
			t.Fatalf("wait for the definition %s: %v", name, err)
		}
	}
}

func (c *Cluster) established(ctx context.Context, name string) error {
	definitions := c.dynamic.Resource(apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	only := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		return o
	}
	e, err := watchtools.UntilWithSync(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return definitions.List(ctx, only(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return definitions.Watch(ctx, only(o))
		},
	}, &unstructured.Unstructured{}, nil, isEstablished)
	if err != nil {
		return err
	}
	var d apiextensions.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object.(*unstructured.Unstructured).Object, &d); err != nil {
		return err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !c.serves(ctx, &d) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("its kind is not served: %w", ctx.Err())
		}
	}
	return nil
}

func isEstablished(e watch.Event) (bool, error) {
	o, ok := e.Object.(*unstructured.Unstructured)
	if !ok || o.GetDeletionTimestamp() != nil {
		return false, nil
	}
	at, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions") // null at first
	conditions, _ := at.([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool {
		m, ok := condition.(map[string]any)
		return ok && m["type"] == string(apiextensions.Established) && m["status"] == "True"
	}), err
}

// serves reports whether the kind is in what the server says that it serves, and is at its path, in each of its versions.
func (c *Cluster) serves(ctx context.Context, d *apiextensions.CustomResourceDefinition) bool {
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		at := schema.GroupVersionResource{Group: d.Spec.Group, Version: v.Name, Resource: d.Spec.Names.Plural}
		kinds, err := c.discovery.ServerResourcesForGroupVersion(at.GroupVersion().String())
		if err != nil || !slices.ContainsFunc(kinds.APIResources, func(r metav1.APIResource) bool { return r.Name == at.Resource }) {
			return false
		}
		if _, err := c.dynamic.Resource(at).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) { // any other error is of what is served
			return false
		}
	}
	return true
}
