// Package cluster answers: which API server, as whom?
//
// In: a kubeconfig, a context, or the pod's own service account.
// Out: the one Client that every read and write goes through, and where each kind is served.
// Promise: there is no other place that makes clients; an empty identity is refused; a kind is unknown only if the server said so.
// Not here: what is read (live) or written (act/ssa, controller).
package cluster

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrUnknownKind says that the server serves no such kind at that version.
var ErrUnknownKind = errors.New("the API server does not serve this kind")

// Options say how to reach a server. Without Kubeconfig and Context, the KUBECONFIG variable, the home directory's
// kubeconfig and the pod's service account are tried, as kubectl does.
type Options struct {
	Kubeconfig, Context string
	UserAgent           string
}

// Client is a connection to one API server as one identity. It may be used concurrently.
type Client struct {
	config    *rest.Config
	namespace string
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	kinds     *kinds
}

// Connect returns a Client. It does not ask the server anything yet.
func Connect(o Options) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	config.UserAgent = o.UserAgent
	c, err := New(config)
	if err != nil {
		return nil, err
	}
	c.namespace = namespace
	return c, nil
}

// New returns a Client over a configuration. The client throttles nothing: the server's fairness (APF) does.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{} // the server's advice about users' manifests is not for our log
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	m, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &Client{config: config, namespace: "default", dynamic: d, metadata: m, kinds: newKinds(disco, time.Now)}, nil
}

// As returns a Client that acts as somebody else. An empty user is refused: client-go would then act as truce itself.
func (c *Client) As(user string, groups []string) (*Client, error) {
	if user == "" {
		return nil, errors.New("impersonate: no user name")
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return New(config)
}

// Config returns a copy of the connection's configuration.
func (c *Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Namespace returns the context's namespace.
func (c *Client) Namespace() string { return c.namespace }

// Dynamic returns the client for whole objects.
func (c *Client) Dynamic() dynamic.Interface { return c.dynamic }

// Metadata returns the client for metadata alone.
func (c *Client) Metadata() metadata.Interface { return c.metadata }
