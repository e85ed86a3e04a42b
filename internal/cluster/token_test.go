package cluster_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/identity"
)

// issuer answers TokenRequests with numbered tokens that live for some time, and other requests only if they bring the newest token.
type issuer struct {
	*httptest.Server
	life time.Duration

	mu     sync.Mutex
	issued int
	asked  []string // audiences
	used   []string
}

func newIssuer(t *testing.T, life time.Duration) *issuer {
	t.Helper()
	i := &issuer{life: life}
	i.Server = httptest.NewTLSServer(i)
	t.Cleanup(i.Close)
	return i
}

// ServeHTTP implements http.Handler.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/api/v1/namespaces/shop/serviceaccounts/pusher/token" {
		i.used = append(i.used, r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, `{"gitVersion":"v1.36.0"}`)
		return
	}
	var ask struct{ Spec struct{ Audiences []string } }
	_ = json.NewDecoder(r.Body).Decode(&ask) // an empty one fails the test below
	i.asked = ask.Spec.Audiences
	i.issued++
	_, _ = fmt.Fprintf(w, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"t%d","expirationTimestamp":%q}}`,
		i.issued, time.Now().Add(i.life).Format(time.RFC3339))
}

// client connects to the issuer with tokens that it issues.
func (i *issuer) client(t *testing.T) *cluster.Client {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	home, err := cluster.NewClient(&rest.Config{Host: i.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := cluster.ParseReference(map[string]string{"provider": "generic", "address": i.URL, "ca.crt": string(ca), "audiences": "there"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Kubeconfig(home, identity.Account{Namespace: "shop", Name: "pusher"}).Connect(cluster.RemoteOptions{
		Wrap: func(next http.RoundTripper) http.RoundTripper { return next },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestATokenIsUsedForMostOfItsLife(t *testing.T) {
	i := newIssuer(t, time.Hour)
	c := i.client(t)
	for range 5 {
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if i.issued != 1 || len(i.used) != 5 || i.used[4] != "Bearer t1" || !slices.Equal(i.asked, []string{"there"}) {
		t.Errorf("%d tokens for %q, sent as %q", i.issued, i.asked, i.used)
	}
}

func TestATokenThatHasExpiredIsNotSent(t *testing.T) {
	i := newIssuer(t, -time.Minute)
	c := i.client(t)
	for range 3 {
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Bearer t1", "Bearer t2", "Bearer t3"}; !slices.Equal(i.used, want) {
		t.Errorf("sent %q, want %q", i.used, want)
	}
}
