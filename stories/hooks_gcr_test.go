package stories

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const googleHost, googleKeysHost = "accounts.google.com", "www.googleapis.com"

// playGoogle answers for Google's hosts of tokens with the public half of a key, behind a proxy. It returns what a process needs in its environment to take it for Google.
func playGoogle(t *testing.T, key *rsa.PublicKey) []string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{googleHost, googleKeysHost}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	google := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.Host + r.URL.Path {
		case googleHost + "/.well-known/openid-configuration":
			_ = json.NewEncoder(rw).Encode(map[string]any{"issuer": "https://" + googleHost, "jwks_uri": "https://" + googleKeysHost + "/oauth2/v3/certs"})
		case googleKeysHost + "/oauth2/v3/certs":
			part := base64.RawURLEncoding.EncodeToString
			_ = json.NewEncoder(rw).Encode(map[string]any{"keys": []map[string]any{
				{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "a", "n": part(key.N.Bytes()), "e": part(big.NewInt(int64(key.E)).Bytes())},
			}})
		default:
			rw.WriteHeader(http.StatusNotFound)
		}
	}))
	google.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}, MinVersion: tls.VersionTLS12}
	google.StartTLS()
	t.Cleanup(google.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if host, _, _ := net.SplitHostPort(r.Host); r.Method != http.MethodConnect || host != googleHost && host != googleKeysHost {
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		tunnel(rw, google.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=", "SSL_CERT_FILE=" + roots}
}

// tunnel joins the client of a proxy with a server, until either ends.
func tunnel(rw http.ResponseWriter, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		rw.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	rw.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(rw).Hijack() // the client may have begun already
	if err != nil {
		return
	}
	defer client.Close()
	go func() {
		_, _ = io.Copy(server, buffered)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// TestPubSubIsKnownByItsToken: a Receiver of the type gcr takes a push of Pub/Sub with a token of Google's for the account and the audience of its Secret, and no other. Truce runs
// as users have it: only its environment leads it to the Google of this test.
func TestPubSubIsKnownByItsToken(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	at := w.receivesByProcess(playGoogle(t, &key.PublicKey))
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.Apply(t, strings.ReplaceAll(`
apiVersion: v1
kind: Secret
metadata: {name: pubsub, namespace: NAMESPACE}
stringData: {token: t0ken, email: push@project.iam.gserviceaccount.com, audience: https://truce.example.com}
---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: pubsub, namespace: NAMESPACE}
spec:
  type: gcr
  secretRef: {name: pubsub}
  resources: [{kind: GitRepository, name: repo}]
`, "NAMESPACE", w.ns))
	w.ready("app")
	hook := at + w.hookPath("pubsub")
	token := func(by *rsa.PrivateKey, changes jwt.MapClaims) string {
		claims := jwt.MapClaims{
			"iss": "https://" + googleHost, "aud": "https://truce.example.com", "exp": time.Now().Add(time.Hour).Unix(), "email": "push@project.iam.gserviceaccount.com", "email_verified": true,
		}
		for name, value := range changes {
			claims[name] = value
		}
		unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		unsigned.Header["kid"] = "a"
		text, err := unsigned.SignedString(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString([]byte(`{"action": "INSERT", "digest": "gcr.io/project/app@sha256:6ec128e26cd5", "tag": "gcr.io/project/app:1"}`))
	body := `{"message": {"data": "` + data + `", "messageId": "1"}, "subscription": "projects/project/subscriptions/push"}`
	for _, c := range []struct {
		token  string
		status int
		text   string
	}{
		{"", 400, "does not match"},
		{token(stranger, nil), 400, "signature"},
		{token(key, jwt.MapClaims{"iss": "https://google.example.com"}), 400, "does not match"},
		{token(key, jwt.MapClaims{"aud": "https://other.example.com"}), 400, "audience"},
		{token(key, jwt.MapClaims{"email": "evil@project.iam.gserviceaccount.com"}), 400, "email"},
		{token(key, jwt.MapClaims{"email_verified": false}), 400, "email"},
	} {
		if status, text := w.bearer(hook, c.token, body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%d %s, want %d %s", status, text, c.status, c.text)
		}
	}
	a := w.Watch(t, configmaps, w.ns, "a")
	w.edit("app/a.yaml", `"k":"a"`, `"k":"pushed"`)
	if status, text := w.bearer(hook, token(key, nil), body); status != 200 || !strings.Contains(text, "requested: 1") {
		t.Fatalf("%d %s", status, text)
	}
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "pushed" })
}

// receivesByProcess runs truce as a process of its own that takes webhooks, with further variables of its environment, and returns the address for them.
func (w *world) receivesByProcess(env []string) string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	w.inProcess(env, "--webhook-addr", at)
	w.until("the listener of webhooks", func() bool {
		conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(w.ctx), "tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + at
}

// inProcess runs truce as a process of its own, until the story ends, with further variables of its environment and further flags.
func (w *world) inProcess(env []string, flags ...string) *process {
	w.t.Helper()
	p, err := startProcessWith(env, filepath.Join(w.t.TempDir(), "log"), buildTruce(w.t), append([]string{
		"controller", "--kubeconfig", w.Kubeconfig, "--cache-dir", w.t.TempDir(), "--listen", "", "--allow-source-hosts", "127.0.0.0/8", "--namespace", w.ns,
	}, flags...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.signal(syscall.SIGTERM); err != nil {
			w.t.Error(err)
			return
		}
		select {
		case <-p.ended:
		case <-time.After(patience):
			w.t.Error("truce does not end on SIGTERM")
			_ = p.signal(syscall.SIGKILL)
			<-p.ended
		}
		if w.t.Failed() {
			w.t.Logf("truce said:\n%s", p.said())
		}
	})
	return p
}
