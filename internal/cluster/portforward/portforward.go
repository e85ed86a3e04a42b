// Package portforward answers: how does a command reach a port that only a pod can open?
//
// In: a connection to the API server, and a pod with its port.
// Out: an address on this machine that the API server forwards to the pod.
// Promise: as kubectl port-forward does it: over WebSockets, else over SPDY; the local port is closed when stop was called or the context ended.
// Not here: what is asked at the address (view).
package portforward

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// OpenForward forwards a free local port to namespace/pod:port through the API server, as kubectl port-forward does. It returns when ctx ends: a
// connection that is opened after that is closed at once.
func OpenForward(ctx context.Context, config *rest.Config, to string) (address string, stop func(), err error) {
	namespace, rest, _ := strings.Cut(to, "/")
	pod, port, _ := strings.Cut(rest, ":")
	dialer, err := newDialer(config, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/portforward", url.PathEscape(namespace), url.PathEscape(pod)))
	if err != nil {
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", namespace, pod, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{"0:" + port}, ready, io.Discard, io.Discard)
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", namespace, pod, err)
	}
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", namespace, pod, err)
	case <-ctx.Done(): // the dialer knows no context
		cancel()
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", namespace, pod, ctx.Err())
	}
	stop = func() { cancel(); <-ended } //nolint:errcheck // its error is that it was stopped
	ports, err := f.GetPorts()
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("forward a port to pod %s/%s: %w", namespace, pod, err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local), stop, nil
}

// newDialer dials as kubectl does: over WebSockets, else over SPDY.
func newDialer(config *rest.Config, path string) (httpstream.Dialer, error) {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	address = address.JoinPath(path)
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(dialer, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
