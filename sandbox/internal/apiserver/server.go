// Package apiserver answers: how does a real kube-apiserver run inside this process?
//
// In: a socket, an etcd endpoint, keys, the user's own flags.
// Out: a serving API server; the moment when /readyz is ok.
// Promise: every default that is not named in flags.go is upstream's; the user's flags win over ours.
// Not here: the controllers, and where files live.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// Server is a kube-apiserver before and while it runs.
type Server struct {
	options *options.ServerRunOptions
	flags   *pflag.FlagSet
	extra   []string
}

// NewServer takes the flags that the user passes on. An unknown one is a *FlagError.
func NewServer(extra []string) (*Server, error) {
	s := &Server{
		options: options.NewServerRunOptions(),
		flags:   pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError),
		extra:   extra,
	}
	for _, set := range s.options.Flags().FlagSets {
		s.flags.AddFlagSet(set)
	}
	return s, s.checkNames()
}

// Run serves until the context ends, and then until requests in flight are done.
func (s *Server) Run(ctx context.Context, cfg Config) error {
	if err := s.flags.Parse(append(cfg.flags(), s.extra...)); err != nil {
		return &FlagError{err}
	}
	server, err := s.build(ctx, cfg.Listener)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := prepared.Run(ctx); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	return nil
}

// build is what app.NewAPIServerCommand and app.Run do, without their signal
// handler, which may be installed only once in a process.
func (s *Server) build(ctx context.Context, listener net.Listener) (*aggregator.APIAggregator, error) {
	s.options.SecureServing.Listener = listener
	s.options.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := s.options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	complete, err := s.options.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := complete.Validate(); len(errs) > 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	if complete.InformerName, err = cache.NewInformerName("kube-apiserver"); err != nil {
		return nil, err
	}
	config, err := app.NewConfig(complete)
	if err != nil {
		return nil, err
	}
	// The server's own writes carry its own name, whatever this process is
	// called when they happen.
	config.KubeAPIs.ControlPlane.Generic.LoopbackClientConfig.UserAgent = rest.DefaultKubernetesUserAgent()
	completed, err := config.Complete()
	if err != nil {
		return nil, err
	}
	return app.CreateServerChain(completed)
}

// WaitReady returns when /readyz is ok.
func WaitReady(ctx context.Context, client *rest.Config) error {
	clients, err := kubernetes.NewForConfig(client)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var code int
		last = clients.RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code).Error()
		return code == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("wait for /readyz: %w", errors.Join(last, err))
	}
	return nil
}
