package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
)

// clusterWatcher sees the cluster with eyes of its own: a client and a watch that the engine has no part in.
type clusterWatcher struct{ client dynamic.Interface }

func newClusterWatcher(kubeconfig, within string) (*clusterWatcher, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: within}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "truce-tour"
	client, err := dynamic.NewForConfig(config)
	return &clusterWatcher{client}, err
}

// tourObjects are what the tour is about.
type tourObjects struct {
	free   object.Object // a Deployment that nothing scales
	scaled object.Object // one that an autoscaler scales
	scaler object.Object
}

// find looks for them among the Deployments that truce manages.
func (w *clusterWatcher) find(ctx context.Context) (tourObjects, error) {
	var s tourObjects
	found, err := w.client.Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: desired.PartOf})
	if err != nil {
		return s, fmt.Errorf("list Deployments: %w", err)
	}
	scalers, err := w.client.Resource(autoscalers).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, fmt.Errorf("list autoscalers: %w", err)
	}
	for _, d := range found.Items {
		if by := scalerOf(d.Object, scalers.Items); by != nil {
			s.scaled, s.scaler = d.Object, by
		} else if s.free == nil {
			s.free = d.Object
		}
	}
	return s, nil
}

func scalerOf(o object.Object, scalers []unstructured.Unstructured) object.Object {
	known := claim.Builtin()
	for _, s := range scalers {
		var index claim.Index
		index.Put(object.Object(s.Object).ID(), known.Read(s.Object))
		if index.Targets(o.ID()) {
			return s.Object
		}
	}
	return nil
}

var errWatchEnded = errors.New("the watch has ended")

// replicas follows spec.replicas of a Deployment.
func (w *clusterWatcher) replicas(ctx context.Context, o object.Object) (<-chan sample, error) {
	return watchField[int64](ctx, w.client.Resource(deployments), o.ID(), claim.Replicas())
}

// watchField sends a field of an object now, and whenever it changes, until ctx ends.
func watchField[T comparable](ctx context.Context, r dynamic.NamespaceableResourceInterface, id object.ID, path field.Path) (<-chan sampleOf[T], error) {
	events, err := r.Namespace(id.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", id.Name).String()})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", id, err)
	}
	out := make(chan sampleOf[T], 256)
	go func() {
		defer close(out)
		defer events.Stop()
		var last *T
		for e := range events.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				return
			}
			found, _ := field.ValueAt(u.Object, path)
			value, _ := found.(T)
			if last != nil && value == *last {
				continue
			}
			last = &value
			select {
			case out <- sampleOf[T]{at: time.Now(), value: value, by: ownerOf(u.Object, path)}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// ownerOf is the manager that the object's managedFields name for a field.
func ownerOf(o object.Object, p field.Path) string {
	owners, err := ownership.Entries(o)
	if err != nil {
		return err.Error()
	}
	for _, owner := range owners {
		if owner.Fields.Has(p) && !owner.IsApply(ownership.Handover) {
			return owner.String()
		}
	}
	return ""
}

// claimOf is what an autoscaler claims; nothing for what is none.
func claimOf(scaler object.Object) claim.Claimant {
	found := claim.Builtin().Read(scaler)
	if len(found) == 0 {
		return claim.Claimant{}
	}
	return found[0]
}

// cpuRequest is the CPU that one pod requests, in thousandths.
func cpuRequest(o object.Object) int64 {
	containers, _ := o.At("spec", "template", "spec", "containers").([]any)
	var sum int64
	for _, c := range containers {
		container, _ := c.(map[string]any)
		text, _ := object.Object(container).At("resources", "requests", "cpu").(string)
		if q, err := resource.ParseQuantity(text); err == nil { // a container without a request adds nothing
			sum += q.MilliValue()
		}
	}
	return sum
}
