// Package metrics answers: how much does each pod and node use, as the autoscaler sees it?
//
// In: the pods, the annotations of their workloads, keys.
// Out: the API metrics.k8s.io/v1beta1, served through the aggregator of the API server.
// Promise: an annotation's change holds from the next request on; only the API server may ask.
// Not here: who may read metrics (RBAC, in the API server, before it asks us).
package metrics

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/truce-gitops/truce/sandbox/internal/pki"
)

// serviceName and serviceNamespace are how the API server knows us; it checks
// our certificate for this name.
const (
	serviceName      = "metrics-server"
	serviceNamespace = "kube-system"
)

// Server serves the metrics API on a port of its own, on loopback.
type Server struct {
	listener net.Listener
	tls      *tls.Config
}

// NewServer opens the port. proxyUser is the name by which the API server
// proves itself.
func NewServer(keys *pki.Store, proxyUser string) (*Server, error) {
	pair, err := keys.Cluster.Server(serviceName + "." + serviceNamespace + ".svc")
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(keys.FrontProxy.PEM) {
		return nil, errors.New("metrics: the front proxy's authority holds no certificate")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Server{listener: listener, tls: &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		VerifyConnection: func(state tls.ConnectionState) error {
			if name := state.PeerCertificates[0].Subject.CommonName; name != proxyUser {
				return fmt.Errorf("client %q is not the API server", name)
			}
			return nil
		},
	}}, nil
}

// Run serves until the context ends. The listers are of informers that the
// caller starts.
func (s *Server) Run(ctx context.Context, client metadata.Interface, pods corelisters.PodLister, nodes corelisters.NodeLister) error {
	src := newSource(client, pods, nodes)
	server := &http.Server{
		Handler:           handler(src),
		TLSConfig:         s.tls,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.Default(),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // no client is left to report to
	defer stop()
	if err := src.run(ctx); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	if err := server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}
