package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
)

// ConfigError says that no usable kubeconfig names a cluster.
type ConfigError struct {
	text, advice string
	err          error
}

// Error returns what is wrong.
func (e *ConfigError) Error() string { return e.text }

// Advice returns what a person can do, in a sentence.
func (e *ConfigError) Advice() string { return e.advice }

// Unwrap returns client-go's error.
func (e *ConfigError) Unwrap() error { return e.err }

// UnreachableError says that no connection to the API server came about: nothing answers, or something else does.
type UnreachableError struct {
	Server string // its address
	Err    error  // of the dial or the TLS handshake; or that the answer is a web page
}

// Error returns what is wrong.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot connect to the API server at %s: %s", e.Server, rootCause(e.Err))
}

// Advice returns what a person can do, in a sentence.
func (e *UnreachableError) Advice() string {
	var dns *net.DNSError
	switch {
	case errors.As(e.Err, &dns):
		return "check the server's address in the kubeconfig, or choose another context with --context or --kubeconfig"
	case errors.Is(e.Err, errWebPage):
		return "check server of the cluster in the kubeconfig, and the proxies and load balancers in between"
	case !isDialError(e.Err):
		return "check server and certificate-authority of the cluster in the kubeconfig"
	}
	return "check that it runs and that the context is the right one (kubectl config current-context), or choose another with --context or --kubeconfig; " +
		"the API server of a `truce up` ends with it"
}

// Unwrap returns the error of the dial or the handshake.
func (e *UnreachableError) Unwrap() error { return e.Err }

func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// rootCause is the innermost part of a connection error: "connection refused", "no such host".
func rootCause(err error) string {
	var dns *net.DNSError
	var call *os.SyscallError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("no address for %s: %s", dns.Name, dns.Err)
	case errors.As(err, &call):
		return call.Err.Error()
	}
	return err.Error()
}

// errWebPage says that the answer is HTML. An API server sends none, and client-go would read a 404 of it as the absence of the object.
var errWebPage = errors.New("the answer is a web page")

// reaching gives connections that did not come about their own error, and the pages of proxies. Every other error passes as it is: client-go
// compares some.
type reaching struct {
	next   http.RoundTripper
	server string
}

// RoundTrip implements http.RoundTripper.
func (r reaching) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(q)
	switch {
	case err != nil && (isDialError(err) || isHandshake(err)):
		err = &UnreachableError{Server: r.server, Err: err}
	case err == nil && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"):
		_ = answer.Body.Close() // it is of no use
		return nil, &UnreachableError{Server: r.server, Err: fmt.Errorf("%w (HTTP %d)", errWebPage, answer.StatusCode)}
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (r reaching) WrappedRoundTripper() http.RoundTripper { return r.next }

// isHandshake reports whether the server is not the one that the kubeconfig trusts, or speaks no TLS.
func isHandshake(err error) bool {
	text := err.Error()
	return strings.Contains(text, "x509: ") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}

// configError explains why a kubeconfig names no cluster.
func configError(o Options, rules *clientcmd.ClientConfigLoadingRules, err error) error {
	const advice = "name a kubeconfig with --kubeconfig or KUBECONFIG, or start a local cluster with `truce up`"
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Kubeconfig != "":
		return &ConfigError{"kubeconfig " + o.Kubeconfig + " does not exist", advice, err}
	case o.Context != "" && !slices.Contains(contexts(rules), o.Context):
		return &ConfigError{fmt.Sprintf("the kubeconfig has no context %q", o.Context), "its contexts: " + cmp.Or(strings.Join(contexts(rules), ", "), "none"), err}
	case clientcmd.IsEmptyConfig(err):
		return &ConfigError{"no cluster is configured: " + searchedFiles(o, rules), advice, err}
	}
	return fmt.Errorf("connect to the cluster: %w", err)
}

// searchedFiles says where a kubeconfig was looked for.
func searchedFiles(o Options, rules *clientcmd.ClientConfigLoadingRules) string {
	if o.Kubeconfig != "" {
		return "kubeconfig " + o.Kubeconfig + " has no current context"
	}
	var absent []string
	for _, path := range rules.Precedence {
		if _, err := os.Stat(path); err == nil {
			return "kubeconfig " + path + " has no current context"
		}
		absent = append(absent, path)
	}
	return strings.Join(absent, " and ") + " does not exist"
}

// contexts lists those of the kubeconfig; none where it cannot be read.
func contexts(rules *clientcmd.ClientConfigLoadingRules) []string {
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}
