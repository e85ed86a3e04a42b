package cloud_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

// verifier answers with a token for what is signed by a key, in a field of the form.
type verifier struct {
	key   *rsa.PublicKey
	field string
}

func (v verifier) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !cloudtest.IsSignedBy(q.FormValue(v.field), v.key) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = w.Write([]byte(`{"access_token":"token-for-a-key","expires_in":3600}`))
}

func newKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// serve puts a service under a name for one test.
func serve(t *testing.T, host string, h http.Handler) {
	t.Helper()
	clouds.Serve(host, h)
	t.Cleanup(func() { clouds.Serve(host, nil) })
	clouds.Requests()
}

// TestAKeyOfGoogleIsExchangedAtGoogleAlone: the address that the file names is not asked.
func TestAKeyOfGoogleIsExchangedAtGoogleAlone(t *testing.T) {
	key, text := newKey(t)
	serve(t, "oauth2.googleapis.com", verifier{&key.PublicKey, "assertion"})
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": email, "private_key": text, "token_uri": "https://evil.example/token"})
	if err != nil {
		t.Fatal(err)
	}
	e := exchange(nil)
	for range 2 {
		if token, err := e.GoogleKeyToken(t.Context(), string(file)); err != nil || token != "token-for-a-key" {
			t.Errorf("%s, %v", token, err)
		}
	}
	if asked := clouds.Requests(); len(asked) != 1 {
		t.Errorf("%v", asked)
	}
	_, err = e.GoogleKeyToken(t.Context(), `{"type":"service_account","client_email":"x","private_key":"secret"}`)
	wants(t, err, "the credentials of the Secret: its private key cannot be read")
	_, err = e.GoogleKeyToken(t.Context(), "secret")
	wants(t, err, "no key of a service account")
}

func TestAServicePrincipalHasASecretOrACertificate(t *testing.T) {
	key, text := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	e := exchange(nil)
	by := cloud.ServicePrincipal{Tenant: cloudtest.Tenant, Client: client, Secret: cloudtest.ClientSecret, Authority: "https://login.microsoftonline.com/"}
	if token, err := e.PrincipalToken(t.Context(), by); err != nil || clouds.ScopeOf(token) != "https://storage.azure.com" {
		t.Errorf("by secret: %q, %v", clouds.ScopeOf(token), err)
	}
	by.Secret = "another"
	_, err = e.PrincipalToken(t.Context(), by)
	wants(t, err, "Microsoft Entra ID answers 401 Unauthorized")
	serve(t, "login.microsoftonline.com", verifier{&key.PublicKey, "client_assertion"})
	by.Secret, by.Certificate, by.Chain = "", text+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "true"
	if token, err := e.PrincipalToken(t.Context(), by); err != nil || token != "token-for-a-key" {
		t.Errorf("by certificate: %v", err)
	}
	by.Certificate = text
	_, err = e.PrincipalToken(t.Context(), by)
	wants(t, err, "no certificate with its key")
}
