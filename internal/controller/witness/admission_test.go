package witness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

var web = object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}

// scale is a review as the API server sends one.
func scale(uid, user string, to int) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":%q,
"kind":{"group":"autoscaling","version":"v1","kind":"Scale"},"resource":{"group":"apps","version":"v1","resource":"deployments"},
"subResource":"scale","namespace":"shop","name":"web","operation":"UPDATE","userInfo":{"username":%q,"groups":["dev"]},
"options":{"fieldManager":"kubectl"},
"object":{"metadata":{"name":"web","uid":"u1"},"spec":{"replicas":%d}},"oldObject":{"metadata":{"name":"web","uid":"u1"},"spec":{"replicas":1}}}}`, uid, user, to)
}

// deployments is a cluster in which every resource is a Deployment, and every object is managed.
type deployments struct{}

func (deployments) KindOf(string, string) string { return "Deployment" }

func (deployments) Manages(object.ID) bool { return true }

func newRing() *attribution.Ring {
	return &attribution.Ring{Hasher: ownership.NewHasher(), Objects: deployments{}}
}

func post(h http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	h.ServeHTTP(out, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
	return out
}

func allowed(t *testing.T, answer *httptest.ResponseRecorder, uid string) {
	t.Helper()
	var said struct {
		APIVersion, Kind string
		Response         struct {
			UID     string
			Allowed bool
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil || said.Response.UID != uid || !said.Response.Allowed || said.APIVersion != "admission.k8s.io/v1" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

func TestEveryReviewIsAllowedAndRecorded(t *testing.T) {
	ring := newRing()
	r := newReceiver("/secret", ring)
	allowed(t, post(r, "/secret", scale("r1", "alice", 5)), "r1")
	got := ring.Of(web)
	if len(got) != 1 || got[0].User != "alice" || got[0].Subresource != "scale" || len(got[0].Changes) != 1 || got[0].Changes[0].Path != ".spec.replicas" {
		t.Errorf("%+v", got)
	}
}

func TestWhoWasNotToldThePathIsNotHeard(t *testing.T) {
	ring := newRing()
	r := newReceiver("/secret", ring)
	for _, path := range []string{"/", "/secre", "/secret/x"} {
		if answer := post(r, path, scale("r1", "mallory", 5)); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
	if got := ring.Of(web); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestAReviewIsAllowedWhateverCannotBeDoneWithIt(t *testing.T) {
	ring := newRing()
	r := newReceiver("/secret", ring)
	for name, body := range map[string][]byte{
		"too large":  append(scale("r1", "alice", 5)[:200], bytes.Repeat([]byte(" "), maxReview)...),
		"half of it": scale("r1", "alice", 5)[:200],
	} {
		t.Run(name, func(t *testing.T) { allowed(t, post(r, "/secret", body), "r1") })
	}
	if got := ring.Of(web); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if ring.Missed() != 1 {
		t.Errorf("%d missed, want the half one", ring.Missed())
	}
	if answer := post(r, "/secret", []byte(`{"request":{}}`)); answer.Code != http.StatusBadRequest {
		t.Errorf("without a uid: %d", answer.Code)
	}
}

// TestARingThatIsFullDelaysNobody: nothing reads what arrives, so that soon nothing fits.
func TestARingThatIsFullDelaysNobody(t *testing.T) {
	ring := newRing()
	r := newReceiver("/secret", ring)
	const many = 3000
	for i := range many {
		allowed(t, post(r, "/secret", scale(fmt.Sprint("r", i), "alice", i)), fmt.Sprint("r", i))
	}
	if got := ring.Missed(); got == 0 || got >= many {
		t.Errorf("%d of %d missed", got, many)
	}
	if got := len(ring.Of(web)); got == 0 {
		t.Error("nothing was kept")
	}
}

func TestTheServerIsTrustedByItsBundleAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAuthority("127.0.0.1", clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ring := newRing()
	done := make(chan error, 1)
	go func() {
		done <- serveTLS(ctx, l, newReceiver("/secret", ring), a, slog.New(slog.DiscardHandler))
	}()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.bundle())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := client.Post("https://"+l.Addr().String()+"/secret", "application/json", bytes.NewReader(scale("r1", "alice", 5)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), `"allowed":true`) {
		t.Errorf("%s, %v", text, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("https://" + l.Addr().String() + "/secret"); err == nil {
		t.Error("it is trusted by somebody who has not been told")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCertificatesAreRenewedBeforeTheyEnd(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a, err := newAuthority("witness.shop.svc", now)
	if err != nil {
		t.Fatal(err)
	}
	serials, bundles := map[string]bool{}, map[string]bool{}
	for range 24 * 90 { // three months, hour by hour
		if err := a.turn(); err != nil {
			t.Fatal(err)
		}
		bundle := a.bundle()
		bundles[string(bundle)] = true
		shown, err := a.certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		a.published()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle)
		if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "witness.shop.svc", CurrentTime: now.Now()}); err != nil {
			t.Fatalf("%s: %v", now.Now(), err)
		}
		serials[shown.Leaf.SerialNumber.String()] = true
		now.SetTime(now.Now().Add(time.Hour))
	}
	if len(serials) < 90 || len(bundles) < 5 || len(bundles) > 10 {
		t.Errorf("%d certificates and %d bundles in 90 days", len(serials), len(bundles))
	}
}

func TestThePlaceSaysHowTheAPIServerGetsHere(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9443}
	for name, c := range map[string]struct {
		place attribution.Place
		host  string
		url   string
		fails bool
	}{
		"by its address":    {host: "127.0.0.1", url: "https://127.0.0.1:9443/"},
		"by another":        {place: attribution.Place{URL: "https://truce.example:8443/base/"}, host: "truce.example", url: "https://truce.example:8443/base/"},
		"in the clear":      {place: attribution.Place{URL: "http://truce.example"}, fails: true},
		"by a Service":      {place: attribution.Place{Service: "truce-system/truce-witness", Pod: "10.0.0.7"}, host: "truce-witness.truce-system.svc"},
		"without a pod":     {place: attribution.Place{Service: "truce-system/truce-witness"}, fails: true},
		"a Service by half": {place: attribution.Place{Service: "truce-witness", Pod: "10.0.0.7"}, fails: true},
	} {
		k, host, err := newRegistrar(Options{Place: c.place}, at)
		if c.fails != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (host != c.host || !strings.HasPrefix(k.setup.URL, c.url) || len(k.setup.Path) < 2*token) {
			t.Errorf("%s: %s, %+v", name, host, k.setup)
		}
	}
}

func FuzzUIDOf(f *testing.F) {
	f.Add(scale("r1", "alice", 5))
	f.Add([]byte(`{"a":[1,{"request":{"uid":"no"}}],"request":{"x":{},"uid":"yes"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if uid, ok := requestUID(body); ok && uid == "" {
			t.Error("an empty uid")
		}
		// Without keys that are there twice, a decoder of the whole body finds the same.
		var whole map[string]any
		if json.Unmarshal(body, &whole) != nil {
			return
		}
		request, _ := whole["request"].(map[string]any)
		want, _ := request["uid"].(string)
		once, err := json.Marshal(map[string]any{"before": []any{whole}, "request": request, "uid": "no"})
		if err != nil {
			t.Fatal(err)
		}
		if uid, ok := requestUID(once); uid != want || ok != (want != "") {
			t.Errorf("uid %q, %v of %s", uid, ok, once)
		}
	})
}
