// Package endpoint answers: how does a Service lead to the controller that leads?
//
// In: a Service without a selector, the address of this pod, and the port that is listened on.
// Out: the EndpointSlice behind the Service.
// Promise: an apply that changes nothing writes nothing; what fails is logged and tried again; the EndpointSlice stays for the next leader to replace.
// Not here: who leads (controller/leader), what is served (web, controller/webhooks, controller/witness).
package endpoint

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Place is a Service, and the pod that it is to lead to. The zero value is none.
type Place struct {
	Namespace, Service string
	Pod                string // its IP address
}

// String is the Service's namespace and name.
func (p Place) String() string { return p.Namespace + "/" + p.Service }

// Port is what the pod listens at. The Service's port of the same name leads to it.
type Port struct {
	Name   string
	Number int64
}

// manager is the field manager of an EndpointSlice, and who keeps it.
const manager = "truce-controller"

var endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}

// Slice returns the EndpointSlice behind the Service: the pod alone.
func (p Place) Slice(at Port) object.Object {
	family := "IPv4"
	if net.ParseIP(p.Pod).To4() == nil {
		family = "IPv6"
	}
	return object.Object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
		"metadata": map[string]any{"name": p.Service, "namespace": p.Namespace, "labels": map[string]any{
			"kubernetes.io/service-name": p.Service, "endpointslice.kubernetes.io/managed-by": manager,
		}},
		"endpoints": []any{map[string]any{"addresses": []any{p.Pod}, "conditions": map[string]any{"ready": true}}},
		"ports":     []any{map[string]any{"name": at.Name, "protocol": "TCP", "port": at.Number}},
	}
}

// Apply makes the Service lead to the pod.
func (p Place) Apply(ctx context.Context, c *cluster.Client, at Port) error {
	force := metav1.ApplyOptions{FieldManager: manager, Force: true}
	_, err := c.Dynamic().Resource(endpointSlices).Namespace(p.Namespace).Apply(ctx, p.Service, &unstructured.Unstructured{Object: p.Slice(at)}, force)
	if err != nil {
		return fmt.Errorf("apply EndpointSlice %s: %w", p, err)
	}
	return nil
}

// How often the EndpointSlice is applied.
const (
	pointAgain = 5 * time.Minute
	pointRetry = 10 * time.Second
)

// Options say what Keep works with.
type Options struct {
	Cluster *cluster.Client
	Log     *slog.Logger
	Port    Port
}

// Keep makes the Service lead to the pod until ctx ends. Nothing is done for the zero Place.
func (p Place) Keep(ctx context.Context, o Options) {
	for p.Service != "" && ctx.Err() == nil {
		pause := pointAgain
		if err := p.Apply(ctx, o.Cluster, o.Port); err != nil && ctx.Err() == nil {
			o.Log.Warn("a Service does not lead to this controller", "service", p.String(), "error", err.Error())
			pause = pointRetry
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
