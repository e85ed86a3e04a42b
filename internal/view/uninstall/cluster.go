package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/permissions"
)

// FindInstallation lists what truce has left, and the controllers that still work: they would write it again.
func FindInstallation(ctx context.Context, c *cluster.Client, in Scope) (Leftovers, error) {
	l := &leftovers{cluster: c, live: list.Reader{Cluster: c}, namespace: in.Namespace}
	gather := []func(context.Context) error{l.resources, l.records, l.endpoints, l.leases, l.instances}
	if in.Namespace == "" {
		gather = append(gather, l.witnesses)
	}
	if in.Marks == RemoveMarks {
		gather = append(gather, l.marked)
	}
	for _, g := range gather {
		if err := g(ctx); err != nil {
			return Leftovers{}, err
		}
	}
	return Leftovers{Running: l.running, Steps: PlanRemoval(l.in)}, nil
}

// leftovers gathers what truce has left.
type leftovers struct {
	cluster   *cluster.Client
	live      list.Reader
	namespace string // empty for all
	in        Input
	running   []string
}

func (l *leftovers) resources(ctx context.Context) error {
	for _, gvk := range registry.CustomResources() {
		found, err := l.live.List(ctx, live.Interest{GVK: gvk, Namespace: l.namespace, Depth: live.Full})
		if err != nil && !errors.Is(err, live.ErrUnknownKind) {
			return err
		}
		l.in.Resources = append(l.in.Resources, found...)
	}
	return nil
}

// records are the inventories, how controllers run, and the tokens of their pages.
func (l *leftovers) records(ctx context.Context) error {
	for _, label := range []string{configmap.Label, instance.Label} {
		found, err := instance.ConfigMaps(l.cluster, l.namespace).List(ctx, metav1.ListOptions{LabelSelector: label + "=true"})
		if err != nil {
			return fmt.Errorf("list ConfigMaps of truce: %w", err)
		}
		for _, u := range found.Items {
			l.in.Records = append(l.in.Records, u.Object)
		}
	}
	found, err := l.cluster.Metadata().Resource(instance.SecretResource).Namespace(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: instance.Label + "=true"})
	if err != nil {
		return fmt.Errorf("list Secrets of truce: %w", err)
	}
	for _, s := range found.Items { // without their values
		l.in.Records = append(l.in.Records, object.Object{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": s.Name, "namespace": s.Namespace, "uid": string(s.UID)},
		})
	}
	return nil
}

// endpoints are the EndpointSlices behind the Services of the witness, of webhooks and of the status page. They have no owner, so that they outlive their Services.
func (l *leftovers) endpoints(ctx context.Context) error {
	kind := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	found, err := l.cluster.Dynamic().Resource(kind).Namespace(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: "endpointslice.kubernetes.io/managed-by=" + Manager})
	if err != nil {
		return fmt.Errorf("list EndpointSlices of truce: %w", err)
	}
	for _, u := range found.Items {
		l.in.Records = append(l.in.Records, u.Object)
	}
	return nil
}

// leases are those of the leader election, and those that earlier versions of truce wrote into namespaces of their own (ADR 16).
func (l *leftovers) leases(ctx context.Context) error {
	for _, name := range []string{instance.LeaseName, "truce-keeper"} {
		found, err := l.cluster.Dynamic().Resource(lease.Resource).Namespace(l.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return fmt.Errorf("list Leases %s: %w", name, err)
		}
		for _, u := range found.Items {
			if name == instance.LeaseName && lease.IsLeaseHeld(u.Object, time.Now()) {
				l.running = append(l.running, fmt.Sprintf("Lease %s/%s is being renewed by %s", u.GetNamespace(), name, object.Object(u.Object).StringAt("spec", "holderIdentity")))
			}
			l.in.Records = append(l.in.Records, u.Object)
		}
	}
	return nil
}

// instances looks for controllers that work for the namespace from another one, or without a Lease of that name, as `truce up` does.
func (l *leftovers) instances(ctx context.Context) error {
	if len(l.running) > 0 {
		return nil
	}
	all, err := l.published(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		if l.concerns(i) && i.SignOfLife(ctx) == nil {
			l.running = append(l.running, fmt.Sprintf("the controller of %s holds its Lease or answers at its status page", i))
		}
	}
	return nil
}

// published are the instances of all ConfigMaps that look like a controller's, also of those that instance.ListInstances drops because no instance with
// their flags has its ConfigMap in their namespace: what is removed beside a controller that works is written again, and is no longer known in between.
func (l *leftovers) published(ctx context.Context) ([]instance.Instance, error) {
	found, err := instance.ConfigMaps(l.cluster, "").List(ctx, metav1.ListOptions{LabelSelector: instance.Label + "=true"})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list ConfigMaps of controllers: %w", err)
	}
	published := l.in.Records
	if err == nil {
		published = nil
		for _, u := range found.Items {
			published = append(published, u.Object)
		}
	}
	all, err := instance.ListInstances(ctx, l.cluster, l.namespace) // where only single namespaces can be listed, those of further places
	if err != nil {
		return nil, err
	}
	for _, o := range published {
		i := instance.FromConfigMap(l.cluster, o)
		if o.GVK().Kind == "ConfigMap" && o.Name() == instance.ConfigMap && !slices.ContainsFunc(all, func(known instance.Instance) bool { return known.Home() == i.Home() }) {
			all = append(all, i)
		}
	}
	return all, nil
}

// concerns reports whether a controller writes what is to be removed: for the apps of the namespace, or about itself.
func (l *leftovers) concerns(i instance.Instance) bool {
	return l.namespace == "" || i.Home() == l.namespace || i.Namespaces().Cover(l.namespace)
}

// witnesses are what admission witnesses have configured. A controller that ends removes it; one that was killed does not.
func (l *leftovers) witnesses(ctx context.Context) error {
	configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	found, err := l.cluster.Dynamic().Resource(configurations).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ValidatingWebhookConfigurations: %w", err)
	}
	for _, u := range found.Items {
		if strings.HasPrefix(u.GetName(), permissions.WitnessPrefix) {
			l.in.Records = append(l.in.Records, u.Object)
		}
	}
	return nil
}

// marked are the objects of the inventories.
func (l *leftovers) marked(ctx context.Context) error {
	store := &configmap.Store{Cluster: l.cluster}
	if l.namespace != "" {
		store.Namespaces = cluster.Namespaces{l.namespace}
	}
	records, err := store.All(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := l.markedBy(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *leftovers) markedBy(ctx context.Context, r inventory.Record) error {
	for _, e := range r.Entries {
		o, err := l.live.Get(ctx, object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}, e.ID)
		if err != nil && !errors.Is(err, live.ErrNotFound) && !errors.Is(err, live.ErrUnknownKind) {
			return err
		}
		if err == nil && (e.UID == "" || e.UID == o.UID()) {
			l.in.Marked = append(l.in.Marked, o)
		}
	}
	return nil
}

// maxConflicts is how often a step is begun again because the object has changed meanwhile.
const maxConflicts = 5

// RemoveInstallation carries a step out. What is gone already is done.
func RemoveInstallation(ctx context.Context, c *cluster.Client, s Step) error {
	res, err := c.Resource(s.GVK)
	if err != nil {
		return err
	}
	r := c.Dynamic().Resource(res.GVR).Namespace(s.Object.Namespace)
	if s.Action == DeleteOwn {
		uid := types.UID(s.UID)
		err := r.Delete(ctx, s.Object.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		return stepError(s, err)
	}
	for range maxConflicts {
		u, getErr := r.Get(ctx, s.Object.Name, metav1.GetOptions{})
		if getErr != nil || string(u.GetUID()) != s.UID {
			return stepError(s, getErr)
		}
		body, bodyErr := patchOf(s, u.Object)
		if bodyErr != nil || body == nil {
			return bodyErr
		}
		_, err = r.Patch(ctx, s.Object.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: Manager})
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return stepError(s, err)
}

func stepError(s Step, err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s %s: %w", s.Action, s.Object, err)
}

// patchOf is the patch of a step on the object as it is now; nil where there is nothing left to do.
func patchOf(s Step, o object.Object) ([]byte, error) {
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	ops := []op{{"replace", "/metadata/resourceVersion", o.ResourceVersion()}}
	switch s.Action {
	case Unmark:
		if _, ok := o.Label(s.What); !ok {
			return nil, nil
		}
		ops = append(ops, op{Op: "remove", Path: "/metadata/labels/" + strings.ReplaceAll(s.What, "/", "~1")})
	default:
		list, _ := o.At("metadata", "finalizers").([]any)
		at := slices.IndexFunc(list, func(f any) bool { return f == s.What })
		if at < 0 {
			return nil, nil
		}
		ops = append(ops, op{Op: "remove", Path: fmt.Sprintf("/metadata/finalizers/%d", at)})
	}
	return json.Marshal(ops)
}
