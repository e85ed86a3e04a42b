package sandbox_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// tenant is a namespace of the shared cluster and clients for it.
type tenant struct {
	*kubernetes.Clientset
	config    *rest.Config
	namespace string
}

// newTenant makes a namespace whose service account exists, so that pods may be made.
func newTenant(t *testing.T) tenant {
	t.Helper()
	config := shared.config(t)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tn := tenant{Clientset: clients, config: config, namespace: ns.Name}
	await(t, tn.list(tn.CoreV1().RESTClient(), "serviceaccounts", "default"), func(*corev1.ServiceAccount) bool { return true })
	return tn
}

func (tn tenant) list(client rest.Interface, resource, name string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client, resource, tn.namespace, fields.OneTermEqualSelector("metadata.name", name))
}

func (tn tenant) pod(name string) cache.ListerWatcher {
	return tn.list(tn.CoreV1().RESTClient(), "pods", name)
}

func (tn tenant) deployment(name string) cache.ListerWatcher {
	return tn.list(tn.AppsV1().RESTClient(), "deployments", name)
}

// await watches one object until it is as wanted, and returns it as it is then.
func await[T runtime.Object](t *testing.T, object cache.ListerWatcher, wanted func(T) bool) T {
	t.Helper()
	var last T
	seen := func(event watch.Event) (bool, error) {
		o, ok := event.Object.(T)
		if !ok || event.Type == watch.Deleted {
			return false, nil
		}
		last = o
		return wanted(o), nil
	}
	if _, err := watchtools.UntilWithSync(limit(t), object, *new(T), nil, seen); err != nil {
		t.Fatalf("%v; last seen: %+v", err, last)
	}
	return last
}

// awaitGone watches one object until it is deleted.
func awaitGone(ctx context.Context, t *testing.T, object cache.ListerWatcher, kind runtime.Object) {
	t.Helper()
	absent := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	deleted := func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil }
	if _, err := watchtools.UntilWithSync(ctx, object, kind, absent, deleted); err != nil {
		t.Fatal(err)
	}
}
