package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Store is what a control plane needs to know of keys.
type Store struct {
	// Cluster vouches for the API server and for its clients.
	Cluster *Authority
	// FrontProxy vouches for the API server when it passes a request on to an
	// aggregated server. It is an authority of its own: a client of the cluster
	// must not be able to speak in the name of others.
	FrontProxy *Authority
	// TokenKeyFile signs and verifies service account tokens.
	TokenKeyFile string

	dir string
}

// LoadStore reads the keys in the directory, and makes those that are absent.
func LoadStore(dir string) (*Store, error) {
	s := &Store{dir: dir, TokenKeyFile: filepath.Join(dir, "service-account.key")}
	var err error
	if s.Cluster, err = loadAuthority(filepath.Join(dir, "cluster-ca"), "truce-sandbox"); err != nil {
		return nil, err
	}
	if s.FrontProxy, err = loadAuthority(filepath.Join(dir, "front-proxy-ca"), "truce-sandbox-front-proxy"); err != nil {
		return nil, err
	}
	return s, s.loadTokenKey()
}

func (s *Store) loadTokenKey() error {
	fresh, err := noneExists(s.TokenKeyFile)
	if err != nil {
		return err
	}
	if !fresh {
		if _, err := readKey(s.TokenKeyFile); err != nil {
			return damaged(s.TokenKeyFile, err)
		}
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	return writePrivate(s.TokenKeyFile, text)
}

// Write puts a pair into name.crt and name.key and returns both names.
func (s *Store) Write(name string, pair Pair) (cert, key string, err error) {
	cert, key = filepath.Join(s.dir, name+".crt"), filepath.Join(s.dir, name+".key")
	if err := writePrivate(cert, pair.Cert); err != nil {
		return "", "", err
	}
	return cert, key, writePrivate(key, pair.Key)
}

// WriteKubeconfig lets the holder of the file act as the named user.
func (s *Store) WriteKubeconfig(file, server, user string, groups ...string) error {
	pair, err := s.Cluster.Client(user, groups...)
	if err != nil {
		return err
	}
	const name = "truce-sandbox"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: s.Cluster.PEM}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return writePrivate(file, text)
}

// Client lets this process act as the named user. The API server takes the
// name of the writer in managedFields from the user agent up to the first "/".
// No client-side rate limit: the server has its own.
func (s *Store) Client(server, userAgent, user string, groups ...string) (*rest.Config, error) {
	pair, err := s.Cluster.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:      server,
		UserAgent: userAgent,
		QPS:       -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: s.Cluster.PEM, CertData: pair.Cert, KeyData: pair.Key,
		},
	}, nil
}
