package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/truce-gitops/truce/internal/cluster/lease"
)

// Kubeconfig is what a kubeconfig of a Secret, or a Reference, says of another cluster. It holds data alone: for it no file is read, no program is run,
// and no proxy is used.
type Kubeconfig struct {
	config *rest.Config
	digest string
	tokens tokenSource // nil for the credentials of config
}

// ParseKubeconfig reads the current context of a kubeconfig. What would read a file, run a program or connect without verifying the server is refused.
// The error holds nothing of the kubeconfig's values.
func ParseKubeconfig(text []byte) (Kubeconfig, error) {
	all, err := clientcmd.Load(text)
	if err != nil { // its text may hold what stands at the place of the error
		return Kubeconfig{}, errors.New("it is no kubeconfig: want YAML or JSON of kind Config")
	}
	current := all.Contexts[all.CurrentContext]
	if current == nil {
		return Kubeconfig{}, errors.New("current-context names no context of it")
	}
	to, as := all.Clusters[current.Cluster], all.AuthInfos[current.AuthInfo]
	if to == nil {
		return Kubeconfig{}, errors.New("its current context names no cluster of it")
	}
	if as == nil {
		return Kubeconfig{}, errors.New("its current context names no user of it")
	}
	if err := errors.Join(clusterRefusal(to), userRefusal(as)); err != nil {
		return Kubeconfig{}, err
	}
	sum := sha256.Sum256(text)
	return Kubeconfig{config: configOf(to, as), digest: hex.EncodeToString(sum[:])}, nil
}

// Digest is the same for equal texts.
func (k Kubeconfig) Digest() string { return k.digest }

// ServerDigest is the same for equal addresses and certificate authorities: it distinguishes clusters without asking them.
func (k Kubeconfig) ServerDigest() string {
	sum := sha256.Sum256([]byte(k.config.Host + "\x00" + k.config.ServerName + "\x00" + string(k.config.CAData)))
	return hex.EncodeToString(sum[:8])
}

// Server is the address of the API server.
func (k Kubeconfig) Server() string { return k.config.Host }

func clusterRefusal(c *clientcmdapi.Cluster) error {
	return errors.Join(serverRefusal("server of its cluster", c.Server),
		refuseSet("certificate-authority", c.CertificateAuthority, "no file is read; use certificate-authority-data"),
		refuseSet("proxy-url", c.ProxyURL, "no proxy of a kubeconfig is used"),
		refuseSet("insecure-skip-tls-verify", truthText(c.InsecureSkipTLSVerify), "the server's certificate is verified; use certificate-authority-data"),
	)
}

// serverRefusal says why an address, which the message names by a word, is not connected to.
func serverRefusal(what, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("%s is no URL: want https://HOST:PORT", what)
	case u.Scheme != "https":
		return fmt.Errorf("%s is not https: credentials would be sent in the clear", what)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%s holds more than https://HOST:PORT/PATH", what)
	}
	return nil
}

func userRefusal(u *clientcmdapi.AuthInfo) error {
	const noFile = "no file is read; use "
	all := []error{
		refuseSet("exec", truthText(u.Exec != nil), "no program is run; use a token or a client certificate"),
		refuseSet("auth-provider", truthText(u.AuthProvider != nil), "no program is run; use a token or a client certificate"),
		refuseSet("tokenFile", u.TokenFile, noFile+"token"),
		refuseSet("client-certificate", u.ClientCertificate, noFile+"client-certificate-data"),
		refuseSet("client-key", u.ClientKey, noFile+"client-key-data"),
	}
	if (len(u.ClientCertificateData) == 0) != (len(u.ClientKeyData) == 0) {
		all = append(all, errors.New("client-certificate-data and client-key-data: want both or neither"))
	}
	if u.Impersonate == "" && (len(u.ImpersonateGroups) > 0 || u.ImpersonateUID != "" || len(u.ImpersonateUserExtra) > 0) {
		all = append(all, errors.New("as-groups, as-uid or as-user-extra without as"))
	}
	return errors.Join(all...)
}

func truthText(yes bool) string {
	if yes {
		return "true"
	}
	return ""
}

func refuseSet(field, value, why string) error {
	if value == "" {
		return nil
	}
	return fmt.Errorf("%s is refused: %s", field, why)
}

func configOf(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) *rest.Config {
	return &rest.Config{
		Host: c.Server, DisableCompression: c.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: c.TLSServerName, CAData: c.CertificateAuthorityData, CertData: u.ClientCertificateData, KeyData: u.ClientKeyData,
		},
		BearerToken: u.Token, Username: u.Username, Password: u.Password,
		Impersonate: rest.ImpersonationConfig{UserName: u.Impersonate, UID: u.ImpersonateUID, Groups: u.ImpersonateGroups, Extra: u.ImpersonateUserExtra},
		Proxy:       func(*http.Request) (*url.URL, error) { return nil, nil },
	}
}

// RemoteOptions say how another cluster is connected to.
type RemoteOptions struct {
	UserAgent string
	Dialer    lease.Dialer // nil for client-go's own
	Wrap      func(http.RoundTripper) http.RoundTripper
	Term      *lease.Term // when the client may write; nil for always
}

// Connect returns a Client of the cluster that the kubeconfig names. Nothing is asked of the server yet.
func (k Kubeconfig) Connect(o RemoteOptions) (*Client, error) {
	config := rest.CopyConfig(k.config)
	config.UserAgent = o.UserAgent
	if o.Dialer != nil {
		config.Dial = o.Dialer.DialContext
	}
	if k.tokens != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return authorizing{next, k.tokens} })
	}
	config.Wrap(o.Wrap)
	c, err := newClient(config, o.Term)
	if err != nil { // it may quote the certificates
		return nil, fmt.Errorf("connect to %s: its certificates or keys cannot be read", k.config.Host)
	}
	return c, nil
}
