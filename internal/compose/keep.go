package compose

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// A truce that works for namespaces by name says so by a Lease in each of them, and one that works for the whole cluster leaves them to it
// (controller/keepers.go). It outlasts a restart and an outage; a truce that was taken away for good is followed when it has run out.
const (
	keepFor   = 10 * time.Minute
	keepAgain = time.Minute
	keepRetry = 5 * time.Second
)

// keeps reports whether a truce keeps others from its namespaces: one that only observes writes nothing that others could disturb, and
// nobody would work there.
func keeps(namespaces cluster.Namespaces, process app.Policy) bool {
	return namespaces.Limited() && process.Mode != app.Observe
}

// keep says for which namespaces this truce works, until ctx ends, and tells the controller in which of them it may work by that. It calls
// begun when that is known of each for the first time.
func (s *service) keep(ctx context.Context, begun func()) {
	if !keeps(s.options.Namespaces, s.options.Process) {
		begun()
		return
	}
	var first, all sync.WaitGroup
	first.Add(len(s.options.Namespaces))
	for _, namespace := range s.options.Namespaces {
		all.Go(func() { s.keepOne(ctx, namespace, sync.OnceFunc(first.Done)) })
	}
	first.Wait()
	begun()
	all.Wait()
}

// keepOne holds the Lease of a namespace. A truce for the whole cluster works there a while after that fails: this one stops before.
func (s *service) keepOne(ctx context.Context, namespace string, tried func()) {
	var until time.Time
	told := ""
	for ctx.Err() == nil {
		at := time.Now().Round(0) // the other truce reads clocks, which go on while a machine sleeps
		pause, err := keepAgain, holdLease(ctx, s.parts.cluster, namespace, s.options)
		if err == nil {
			until, told = at.Add(keepFor-keepAgain), ""
			s.hindrances.tell(namespace, "")
		} else if ctx.Err() == nil {
			pause = keepRetry
			if told != err.Error() {
				told = err.Error()
				s.options.Log.Warn("a truce for the whole cluster is not told to leave the namespace to this one", "namespace", namespace, "error", told)
			}
			if !time.Now().Before(until) {
				s.hindrances.tell(namespace, "namespace "+namespace+" is left alone until its Lease is held: a truce for the whole cluster could work there, too: "+told)
			}
		}
		s.controller.Hold(namespace, until)
		tried()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	tried()
}

// holdLease renews the Lease that says who works for a namespace.
func holdLease(ctx context.Context, c *cluster.Client, namespace string, o cli.ControllerOptions) error {
	ctx, cancel := context.WithTimeout(ctx, keepAgain/2)
	defer cancel()
	_, err := c.Dynamic().Resource(leases).Namespace(namespace).Apply(ctx, controller.KeeperLease, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": controller.KeeperLease, "namespace": namespace},
		"spec": map[string]any{
			"holderIdentity": "truce of namespace " + o.Namespaces.Home(c.Namespace()), "leaseDurationSeconds": int64(keepFor / time.Second),
			"renewTime": time.Now().UTC().Format(metav1.RFC3339Micro),
		},
	}}, metav1.ApplyOptions{FieldManager: publisher, Force: true})
	if err != nil {
		return fmt.Errorf("apply Lease %s/%s: %w", namespace, controller.KeeperLease, err)
	}
	return nil
}

// apart lists the namespaces that a truce for the whole cluster leaves to their keepers, as their Leases say now. Who may not list them knows of none.
func apart(r live.Reader) func(context.Context) ([]string, error) {
	gvk := object.GVK{Group: leases.Group, Version: leases.Version, Kind: "Lease"}
	return func(ctx context.Context) ([]string, error) {
		all, err := r.List(ctx, live.Interest{GVK: gvk, Name: controller.KeeperLease})
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		var out []string
		now := time.Now()
		for _, o := range all {
			if _, until := controller.KeptUntil(o, now); now.Before(until) {
				out = append(out, o.Namespace())
			}
		}
		return out, err
	}
}

// keeping drops the controllers of the whole cluster from those that say that they work for a namespace, where one of them keeps it by name.
func (c *client) keeping(ctx context.Context, namespace string, found []object.Object) ([]object.Object, error) {
	var named []object.Object
	for _, o := range found {
		if keeps(worksFor(o), policyIn(o)) {
			named = append(named, o)
		}
	}
	if len(named) == 0 || len(named) == len(found) {
		return found, nil
	}
	u, err := c.parts.cluster.Dynamic().Resource(leases).Namespace(namespace).Get(ctx, controller.KeeperLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w", namespace, controller.KeeperLease, err)
	}
	if _, until := controller.KeptUntil(u.Object, time.Now()); !time.Now().Before(until) {
		return found, nil
	}
	var out []object.Object
	for _, o := range found {
		if worksFor(o).Limited() {
			out = append(out, o)
		}
	}
	return out, nil
}
