package apiserver

import (
	"fmt"
	"net"
	"strings"
)

// Config is what the API server needs of the rest. File names are absolute.
type Config struct {
	// Listener is on loopback.
	Listener net.Listener
	// EtcdEndpoint is a URL that the etcd client knows.
	EtcdEndpoint string
	// CertFile and KeyFile prove the server to its clients, ClientCAFile a
	// client to the server.
	CertFile, KeyFile, ClientCAFile string
	// ProxyCertFile and ProxyKeyFile prove the server to aggregated servers,
	// which trust FrontProxyCAFile.
	ProxyCertFile, ProxyKeyFile, FrontProxyCAFile string
	// TokenKeyFile signs and verifies service account tokens.
	TokenKeyFile string
	// AuditLog and AuditPolicy are empty for no audit log.
	AuditLog, AuditPolicy string
}

// ProxyUser is the one name that may pass requests on to aggregated servers.
const ProxyUser = "front-proxy-client"

// ServiceIP is the address of the "kubernetes" service, for the certificate.
const ServiceIP = "10.96.0.1"

// flags names each choice that differs from upstream's default, and why.
func (c Config) flags() []string {
	flags := map[string]string{
		"etcd-servers":         c.EtcdEndpoint,
		"tls-cert-file":        c.CertFile,
		"tls-private-key-file": c.KeyFile,
		"client-ca-file":       c.ClientCAFile,
		"authorization-mode":   "RBAC",

		// Loopback is no valid address of an endpoint: the address is given and
		// the "kubernetes" service gets no endpoints.
		"bind-address":             "127.0.0.1",
		"advertise-address":        "127.0.0.1",
		"external-hostname":        "127.0.0.1",
		"endpoint-reconciler-type": "none",
		"service-cluster-ip-range": "10.96.0.0/16",

		"service-account-issuer":           "https://kubernetes.default.svc.cluster.local",
		"service-account-key-file":         c.TokenKeyFile,
		"service-account-signing-key-file": c.TokenKeyFile,

		"proxy-client-cert-file":             c.ProxyCertFile,
		"proxy-client-key-file":              c.ProxyKeyFile,
		"requestheader-client-ca-file":       c.FrontProxyCAFile,
		"requestheader-allowed-names":        ProxyUser,
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",

		// There is no kubelet to wait for, and port 0 is not shared.
		"shutdown-delay-duration": "0s",
		"profiling":               "false",
	}
	if c.AuditLog != "" {
		flags["audit-log-path"] = c.AuditLog
		flags["audit-policy-file"] = c.AuditPolicy
		// In megabytes. One file is what a reader of it expects.
		flags["audit-log-maxsize"] = "100000"
	}
	args := make([]string, 0, len(flags))
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
	}
	return args
}

// AuditPolicy logs who did what to which object, once per request, with the
// user agent and without any content.
const AuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// FlagError is a flag passed on by the user that kube-apiserver does not take.
type FlagError struct{ cause error }

func (e *FlagError) Error() string { return "kube-apiserver flag: " + e.cause.Error() }
func (e *FlagError) Unwrap() error { return e.cause }

// checkNames finds a mistake in the user's flags before anything is started.
func (s *Server) checkNames() error {
	for _, arg := range s.extra {
		name, _, found := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "--") || !found {
			return &FlagError{fmt.Errorf("%q is not of the form --name=value", arg)}
		}
		if s.flags.Lookup(name) == nil {
			return &FlagError{fmt.Errorf("--%s is not known to it", name)}
		}
	}
	return nil
}
