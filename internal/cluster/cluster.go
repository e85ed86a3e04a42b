// Package cluster answers: which API server, as whom?
//
// In: a kubeconfig, a context, or the pod's own service account.
// Out: the one Client that every read and write goes through, and where each kind is served.
// Promise: there is no other place that makes clients; an empty identity is refused; a kind is unknown only if the server said so.
// Not here: what is read (live) or written (apply/ssa, controller).
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/reread"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
)

// Options say how to reach a server. Without Kubeconfig and Context, the KUBECONFIG variable, the home directory's
// kubeconfig and the pod's service account are tried, as kubectl does.
type Options struct {
	Target
	UserAgent string // "truce/<version>"; the server names field managers of other writes than apply after it
	// Wrap sees every request that is made, as the server does; may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Term is when the client may write; nil for always. A client that is made of its Config is not held to it.
	Term *lease.Term
}

// Client is a connection to one API server as one identity. It may be used concurrently. A server that hangs is noticed
// by an HTTP/2 ping (client-go's default: after 30 s of silence, with 15 s for the answer); a request ends with its context, and where the
// server gives no answer for longer than it may take by its own limits.
type Client struct {
	config    *rest.Config
	http      *http.Client
	namespace string
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery *discovery.DiscoveryClient
	kinds     *kinds
}

// Connect returns a Client. It does not ask the server anything yet.
func Connect(o Options) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, configError(o, rules, err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	config.UserAgent = o.UserAgent
	if o.As+o.AsUID != "" || len(o.AsGroups) > 0 {
		config.Impersonate = rest.ImpersonationConfig{UserName: o.As, UID: o.AsUID, Groups: o.AsGroups}
	}
	if o.Timeout != 0 {
		config.Timeout = o.Timeout
	}
	if o.Wrap != nil {
		config.Wrap(o.Wrap)
	}
	c, err := newClient(config, o.Term)
	if err != nil {
		return nil, err
	}
	c.namespace = namespace
	return c, nil
}

// NewClient returns a Client over a configuration, of which it keeps a copy. The client throttles nothing: the server's
// fairness (API priority and fairness, KEP-1040) does.
func NewClient(config *rest.Config) (*Client, error) { return newClient(config, nil) }

func newClient(config *rest.Config, term *lease.Term) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, cmp.Or(config.WarningHandler, rest.WarningHandler(&warnings{}))
	if i := config.Impersonate; i.UserName == "" && (len(i.Groups) > 0 || i.UID != "" || len(i.Extra) > 0) {
		return nil, fmt.Errorf("connect to %s: impersonate: groups without a user name", config.Host)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return reaching{reread.Transport{Next: next}, config.Host}
	})
	h, err := httpClient(config, term)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	c := &Client{config: config, http: h, namespace: "default"}
	if err := c.makeClients(); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	c.kinds = newKinds(c.discovery, clock.RealClock{})
	return c, nil
}

// httpClient is the one HTTP client. Under a term, writes have connections of their own.
func httpClient(config *rest.Config, term *lease.Term) (*http.Client, error) {
	all, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	if term != nil {
		writing := rest.CopyConfig(config)
		writing.Dial = term.Dial(config.Dial)
		writes, err := rest.TransportFor(writing)
		if err != nil {
			return nil, err
		}
		all = term.Transport(all, writes)
	}
	return &http.Client{Transport: patient{next: all, read: readLimit, write: writeLimit}, Timeout: config.Timeout}, nil
}

// makeClients makes the typed views of the one HTTP client.
func (c *Client) makeClients() (err error) {
	if c.dynamic, err = newDynamic(c.config, c.http); err != nil {
		return err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(c.config, c.http); err != nil {
		return err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	return err
}

// IsUnanswered reports whether a request failed without the server's having done or refused it: there was no answer, for another reason
// than that no caller waits for it any more, or the server's own fault (5xx), or its plea to come again (429). A 500 about an object that does not fit
// its schema is a refusal.
func IsUnanswered(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError && !isMisfit(err) || code == http.StatusTooManyRequests
}

// isMisfit reports whether the server refused a server-side apply because its fields do not fit the schema. The API server answers 500 to it, with this
// text (k8s.io/apimachinery, managedfields; measured on 1.37), where other writes of such an object get a 400.
func isMisfit(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && strings.HasPrefix(status.Status().Message, "failed to create typed patch object (")
}

// IsDoubtful reports whether the server refused in a way that may be a fault of the moment: 401, 403, 404, 409 or 410.
func IsDoubtful(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && slices.Contains(doubtful, status.Status().Code)
}

// doubtful are the codes that also come from a server or a proxy which starts, or whose authorizer or discovery is a moment behind; 409 besides, where it
// reports no conflict that the caller knows how to end.
var doubtful = []int32{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusGone}

// IsAbsent reports whether the server says that there is no object of that name. A path that it does not serve, and a proxy, answer 404 too:
// client-go fills the name into an error without the server's own Status.
func IsAbsent(err error, name string) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Name == name
}

// As returns a Client that impersonates another user over the same connections. What the server serves is asked once for all
// identities, as c's. An empty user is refused, as is a service account without a name: the server would take the first for
// truce itself.
func (c *Client) As(user string, groups []string) (*Client, error) {
	if user == "" || strings.HasSuffix(user, ":") {
		return nil, fmt.Errorf("impersonate %q: no user name", user)
	}
	as := *c
	as.config = rest.CopyConfig(c.config)
	as.config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	as.http = &http.Client{
		Transport: transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user, Groups: groups}, c.http.Transport),
		Timeout:   c.http.Timeout,
	}
	if err := as.makeClients(); err != nil {
		return nil, fmt.Errorf("impersonate %s: %w", user, err)
	}
	return &as, nil
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// Config returns a copy of the connection's configuration.
func (c *Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Namespace returns the context's namespace.
func (c *Client) Namespace() string { return c.namespace }

// Dynamic returns the client for whole objects.
func (c *Client) Dynamic() dynamic.Interface { return c.dynamic }

// Metadata returns the client for metadata alone.
func (c *Client) Metadata() metadata.Interface { return c.metadata }

// Schemas returns the client for the OpenAPI v3 documents that the server publishes for each group and version (KEP-2896).
func (c *Client) Schemas() openapi.ClientWithContext {
	return openapi.NewClientWithContext(c.discovery.RESTClient())
}

// Version returns the API server's own version, such as v1.34.2.
func (c *Client) Version(ctx context.Context) (string, error) {
	text, err := c.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	var v version.Info
	if err := json.Unmarshal(text, &v); err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	return v.GitVersion, nil
}
