package witness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
)

// registrar keeps the configuration as it has to be.
type registrar struct {
	Options
	ring      *attribution.Ring
	kinds     Kinds
	changed   <-chan struct{} // has something when kinds in use have changed
	setup     attribution.Setup
	authority *authority
	port      int64 // that is listened on
	missed    int   // reviews, as far as that was logged
	heard     <-chan struct{}
	circuit   circuit
}

// manager is the field manager of what is written here.
const manager = "truce-controller"

// The intervals of the configuration's upkeep.
const (
	lookAgain = 5 * time.Minute // whether the configuration was changed or removed: an apply that changes nothing writes nothing
	tryAgain  = 10 * time.Second
	gather    = 200 * time.Millisecond // kinds come into use together
	leaveIn   = 5 * time.Second
)

// keep works until ctx ends, and takes the configuration away then.
func (k *registrar) keep(ctx context.Context) {
	defer k.leave(ctx)
	for ctx.Err() == nil {
		k.offer(ctx)
		k.tellMissed()
	}
}

// offer has the API server report writes until the configuration must be checked again.
func (k *registrar) offer(ctx context.Context) {
	if err := k.ensure(ctx); err != nil {
		if ctx.Err() == nil {
			k.Log.Warn("the witness could not be registered with the API server", "error", err.Error())
		}
		k.pause(ctx, k.changed, tryAgain)
		return
	}
	if !k.answered(ctx, lookAgain) {
		k.pause(ctx, nil, k.withdraw(ctx))
	}
}

// pause waits so long, or until kinds have changed: those that come into use together are reported together. It reports whether they have.
func (k *registrar) pause(ctx context.Context, changed <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-changed:
	}
	timer.Reset(gather)
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return true
}

func (k *registrar) tellMissed() {
	if n := k.ring.Missed(); n > k.missed {
		k.Log.Warn("the witness could not keep up: reviews were dropped", "reviews", n-k.missed)
		k.missed = n
	}
}

// ensure applies what is to be there.
func (k *registrar) ensure(ctx context.Context) error {
	if err := k.authority.turn(); err != nil {
		return err
	}
	if k.setup.User == "" {
		user, err := k.Cluster.User(ctx)
		if err != nil {
			return err
		}
		k.setup.User = user
	}
	if err := k.point(ctx); err != nil {
		return err
	}
	s := k.setup
	s.Bundle = k.authority.bundle()
	kinds, mark, namespaces := k.kinds.InUse()
	s.Mark, s.Namespaces = mark, namespaces
	for _, gvk := range kinds {
		r, err := k.Cluster.Resource(gvk)
		if errors.Is(err, live.ErrUnknownKind) {
			continue // it is not written
		}
		if err != nil {
			return fmt.Errorf("%s: %w", gvk, err)
		}
		s.Kinds = append(s.Kinds, attribution.Kind{Group: r.GVR.Group, Version: r.GVR.Version, Resource: r.GVR.Resource})
	}
	_, err := k.Cluster.Dynamic().Resource(configurations).Apply(ctx, s.Name, &unstructured.Unstructured{Object: s.Configuration()}, force)
	if err != nil {
		return fmt.Errorf("apply ValidatingWebhookConfiguration %s: %w", s.Name, err)
	}
	k.authority.published()
	return nil
}

var force = metav1.ApplyOptions{FieldManager: manager, Force: true}

// point makes the Service lead here. It has no selector: who stands by has seen nothing.
func (k *registrar) point(ctx context.Context) error {
	if k.Place.Service == "" {
		return nil
	}
	place, port := k.endpoint()
	return place.Apply(ctx, k.Cluster, port)
}

// endpoint is what the Service leads to: this pod, at the port that is listened on.
func (k *registrar) endpoint() (endpoint.Place, endpoint.Port) {
	return endpoint.Place{Namespace: k.setup.In, Service: k.setup.By, Pod: k.Place.Pod}, endpoint.Port{Name: servicePortName, Number: k.port}
}

// leave takes away the configuration, if it still is ours: another leader may have put its own there.
func (k *registrar) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveIn)
	defer cancel()
	ours := func(url string) bool { return strings.Contains(url, k.setup.Path) }
	if err := removeConfigurations(ctx, k.Cluster, k.setup.Name, ours); err != nil {
		k.Log.Warn("the witness's configuration stays, and does no harm", "error", err.Error())
	}
}

// removeConfiguration takes away a configuration that an earlier process has left. There may be none.
func removeConfiguration(ctx context.Context, c *cluster.Client, name string) error {
	err := removeConfigurations(ctx, c, name, func(string) bool { return true })
	if apierrors.IsForbidden(err) {
		return nil // who may not read it has not written it
	}
	return err
}

func removeConfigurations(ctx context.Context, c *cluster.Client, name string, ours func(place string) bool) error {
	r := c.Dynamic().Resource(configurations)
	have, err := r.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ValidatingWebhookConfiguration %s: %w", name, err)
	}
	if !ours(placeOf(have.Object)) {
		return nil
	}
	uid, version := have.GetUID(), have.GetResourceVersion()
	err = r.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ValidatingWebhookConfiguration %s: %w", name, err)
	}
	return nil
}

// placeOf is where a configuration sends reviews.
func placeOf(o object.Object) string {
	hooks, _ := o.At("webhooks").([]any)
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		if url, ok := object.Object(hook).At("clientConfig", "url").(string); ok {
			return url
		}
		if path, ok := object.Object(hook).At("clientConfig", "service", "path").(string); ok {
			return path
		}
	}
	return ""
}
