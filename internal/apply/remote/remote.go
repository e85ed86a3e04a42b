// Package remote answers: is the cluster of a kubeconfig reachable, and is it still the same cluster?
//
// In: a kubeconfig, and which servers may be connected to.
// Out: a Connection: a client, the cluster's identity, a sign when a request fails; the access of apps, whose writes reach that cluster alone.
// Promise: no call waits longer than a bounded time for a server that does not answer, and a failure is remembered for a while; once the server has
// become another cluster, nothing is written to it any more.
// Not here: reading a kubeconfig (cluster), which app has which connection (controller), what an inventory says of the cluster (reconcile).
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// askWithin is how long the server may take to say which cluster it is, and firstPause and longestPause bound how long a failure is remembered.
const (
	askWithin    = 15 * time.Second
	firstPause   = 2 * time.Second
	longestPause = time.Minute
)

// Options say how another cluster is connected to.
type Options struct {
	UserAgent string
	Dialer    lease.Dialer
	Term      *lease.Term // when it may be written; nil for always
}

// Connection is the connection to another cluster. It may be used concurrently.
type Connection struct {
	kubeconfig cluster.Kubeconfig
	client     *cluster.Client
	opened     atomic.Int64 // TCP connections: behind each may be another server
	doubts     chan struct{}

	mu       sync.Mutex
	asking   *question // under way; nil for none
	identity string    // of the first answer; empty for none yet
	err      error     // of the newest answer
	moved    bool      // the server is another cluster than at first
	verified int64     // the value of opened at the newest answer
	again    time.Time // when the server may be asked again after a failure
	pause    time.Duration
}

// question is one question to the server, for which all wait who ask the same meanwhile.
type question struct {
	ended    chan struct{}
	answered bool // set before ended is closed: its caller has not given it up
}

// Connect returns a Connection. Nothing is asked of the server yet.
func Connect(k cluster.Kubeconfig, o Options) (*Connection, error) {
	c := &Connection{kubeconfig: k, doubts: make(chan struct{}, 1)}
	var err error
	c.client, err = k.Connect(cluster.RemoteOptions{
		UserAgent: o.UserAgent, Term: o.Term,
		Wrap:   func(next http.RoundTripper) http.RoundTripper { return doubting{next, c} },
		Dialer: countedDialer{o.Dialer, &c.opened},
	})
	return c, err
}

// countedDialer counts the connections that it opens.
type countedDialer struct {
	next   lease.Dialer
	opened *atomic.Int64
}

// DialContext implements lease.Dialer.
func (d countedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.next.DialContext(ctx, network, address)
	if err == nil {
		d.opened.Add(1)
	}
	return conn, err
}

// Client returns the client of the cluster.
func (c *Connection) Client() *cluster.Client { return c.client }

// Close closes the connections that no request uses.
func (c *Connection) Close() { c.client.CloseIdleConnections() }

// Doubts receives a value when a request was not answered, or the credentials were rejected: Identify finds out what that means.
func (c *Connection) Doubts() <-chan struct{} { return c.doubts }

// Server is the address of the API server.
func (c *Connection) Server() string { return c.kubeconfig.Server() }

// Known returns the identity of the cluster; empty where it has not been asked for yet.
func (c *Connection) Known() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}

// Moved reports whether the server was found to be another cluster than at first. That does not end.
func (c *Connection) Moved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// Again returns when the server may be asked again; zero where the newest answer was no failure.
func (c *Connection) Again() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return time.Time{}
	}
	return c.again
}

// Identify returns what distinguishes the cluster from others: the uid of its namespace kube-system or, for credentials that may not read it, a hash of the
// server's address and certificate authority. It asks the server, unless that failed a moment ago.
func (c *Connection) Identify(ctx context.Context) (string, error) {
	for {
		c.mu.Lock()
		if c.moved || c.err != nil && time.Now().Before(c.again) {
			defer c.mu.Unlock()
			return "", c.err
		}
		q := c.asking
		if q == nil {
			q = &question{ended: make(chan struct{})}
			c.asking = q
			c.mu.Unlock()
			return c.ask(ctx, q)
		}
		c.mu.Unlock()
		select {
		case <-q.ended:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if q.answered {
			return c.answer()
		}
	}
}

func (c *Connection) answer() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", c.err
	}
	return c.identity, nil
}

// Is reports whether an identity that was recorded at some time is that of this cluster.
func (c *Connection) Is(identity string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return identity == c.identity || identity == c.byServer()
}

// byServer is the identity of the cluster for credentials that may not read its namespace kube-system.
func (c *Connection) byServer() string { return "server-" + c.kubeconfig.ServerDigest() }

// ask asks the server, and ends the question. One that its caller has given up is no answer.
func (c *Connection) ask(ctx context.Context, q *question) (string, error) {
	within, end := context.WithTimeout(ctx, askWithin)
	defer end()
	id, err := c.read(within)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(q.ended)
	c.asking = nil
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	q.answered = true
	switch {
	case err == nil && c.identity != "" && id != c.identity:
		c.moved = id != c.byServer()
		err = fmt.Errorf("the server at %s is not the cluster that it was: nothing is read or written there", c.kubeconfig.Server())
		if !c.moved {
			err = errors.New("the credentials may not read the namespace kube-system any more, by which the cluster is known")
		}
	case err == nil:
		c.identity, c.verified = id, c.opened.Load()
	}
	if c.err = err; err != nil {
		c.pause = min(max(2*c.pause, firstPause), longestPause)
		c.again = time.Now().Add(c.pause)
		return "", err
	}
	c.pause = 0
	return id, nil
}

func (c *Connection) read(ctx context.Context) (string, error) {
	found, err := c.client.Metadata().Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil && found.UID != "":
		return string(found.UID), nil
	case apierrors.IsForbidden(err), cluster.IsAbsent(err, metav1.NamespaceSystem):
		return c.byServer(), nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("the server at %s rejects the credentials", c.kubeconfig.Server())
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("the server at %s has not answered within %s", c.kubeconfig.Server(), askWithin)
	case err == nil:
		return "", fmt.Errorf("the server at %s is no API server of Kubernetes", c.kubeconfig.Server())
	}
	var token *cluster.TokenError
	if errors.As(err, &token) {
		return "", token
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) { // its text is the server's
		return "", fmt.Errorf("the server at %s answers with HTTP status %d", c.kubeconfig.Server(), status.Status().Code)
	}
	return "", errors.New(redact.MaskText(err.Error()))
}

// verify returns an error unless every connection leads to the cluster that the first one led to.
func (c *Connection) verify(ctx context.Context) error {
	c.mu.Lock()
	known := c.identity != "" && c.err == nil && c.verified == c.opened.Load()
	c.mu.Unlock()
	if known {
		return nil
	}
	_, err := c.Identify(ctx)
	return err
}

// doubting notices requests that are not answered.
type doubting struct {
	next http.RoundTripper
	c    *Connection
}

// RoundTrip implements http.RoundTripper.
func (d doubting) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := d.next.RoundTrip(q)
	cause := context.Cause(q.Context())
	ended := errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded)
	if err != nil && !ended || err == nil && answer.StatusCode == http.StatusUnauthorized {
		select {
		case d.c.doubts <- struct{}{}:
		default:
		}
	}
	return answer, err
}

// WrappedRoundTripper returns the transport below, for client-go.
func (d doubting) WrappedRoundTripper() http.RoundTripper { return d.next }
