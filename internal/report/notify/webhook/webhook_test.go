package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
)

func message() notify.Message {
	return notify.Message{
		Event: notify.Event{Severity: notify.Error, Reason: "FieldContested", Text: "it goes back and forth", Revision: "main@sha1:abc"},
		About: object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: "web"}, UID: "u",
		APIVersion: "kustomize.toolkit.fluxcd.io/v1", Evidence: map[string]string{"field": ".spec.replicas"}, At: time.Unix(0, 5000),
		Origin: "main@sha1:def", Annotations: map[string]string{"event.toolkit.fluxcd.io/change_request": "7", "other/key": "x"},
	}
}

// receiver answers with the codes in turn, the last one for ever, and keeps what it gets.
func receiver(t *testing.T, codes ...int) (*Sender, func() (requests int, last string)) {
	t.Helper()
	var n atomic.Int64
	var body atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body.Store(string(text))
		code := codes[min(int(n.Add(1)), len(codes))-1]
		http.Error(w, "so it is "+path.Base(r.URL.Path), code)
	}))
	t.Cleanup(s.Close)
	sender, err := NewSender(s.URL + "/hook/t0ken")
	if err != nil {
		t.Fatal(err)
	}
	sender.client.RetryWaitMin, sender.client.RetryWaitMax = time.Millisecond, time.Millisecond
	return sender, func() (int, string) { text, _ := body.Load().(string); return int(n.Load()), text }
}

func TestAMessageHasTheFormOfFluxsEvents(t *testing.T) {
	s, got := receiver(t, http.StatusAccepted)
	if err := s.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	_, body := got()
	var have any
	if err := json.Unmarshal([]byte(body), &have); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"involvedObject": map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "shop", "name": "web", "uid": "u",
		},
		"severity": "error", "timestamp": "1970-01-01T00:00:00Z", "message": "it goes back and forth", "reason": "FieldContested", "reportingController": "truce", "reportingInstance": "truce-controller",
		"metadata": map[string]any{
			"kustomize.toolkit.fluxcd.io/revision": "main@sha1:abc", "kustomize.toolkit.fluxcd.io/originRevision": "main@sha1:def", "truce.dev/field": ".spec.replicas",
			"event.toolkit.fluxcd.io/change_request": "7",
		},
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}

// TestARevisionThatChangesNothingIsForTheStatusOfItsCommit: notification-controller keeps it from chats, as that of kustomize-controller.
func TestARevisionThatChangesNothingIsForTheStatusOfItsCommit(t *testing.T) {
	m := message()
	m.Severity, m.Reason, m.Evidence = notify.Info, "ReconciliationSucceeded", nil
	const key = "kustomize.toolkit.fluxcd.io/commit_status"
	if got := newPayload(m).Metadata[key]; got != "update" {
		t.Errorf("of a revision that changes nothing: %q", got)
	}
	m.Evidence = map[string]string{notify.FactChanged: "configured: Deployment shop/web"}
	if got := newPayload(m).Metadata[key]; got != "" {
		t.Errorf("of one that changes something: %q", got)
	}
}

func TestAReceiverInTroubleIsAskedAgainAndOneThatHasEnoughIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		codes    []int
		requests int
		err      string
	}{
		"comes back":       {[]int{503, 502, 202}, 3, ""},
		"stays away":       {[]int{503}, retries + 1, `503 Service Unavailable; the server says "so it is ***"`},
		"has had enough":   {[]int{429}, 1, ""},
		"does not like it": {[]int{404}, 1, `404 Not Found; the server says "so it is ***"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, got := receiver(t, c.codes...)
			err := s.Send(t.Context(), message())
			if n, _ := got(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.HasSuffix(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if err != nil && strings.Contains(err.Error(), "t0ken") {
				t.Errorf("the address's secret is told: %v", err)
			}
		})
	}
}

// TestARedirectThatDropsTheMessageIsNoSuccess: what net/http would read there, such as a login or the TLS form of the address, is answered with 200.
func TestARedirectThatDropsTheMessageIsNoSuccess(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				http.Redirect(w, r, "/login", code)
			}
		}))
		sender, err := NewSender(s.URL + "/hook")
		if err != nil {
			t.Fatal(err)
		}
		if err := sender.Send(t.Context(), message()); err == nil || !strings.Contains(err.Error(), http.StatusText(code)) {
			t.Errorf("%d: %v", code, err)
		}
		s.Close()
	}
}

func TestTheSecretOfAnAddressIsInNoError(t *testing.T) {
	s, err := NewSender("http://user:t0ken@127.0.0.1:1/t0ken?t0ken=t0ken")
	if err != nil {
		t.Fatal(err)
	}
	s.client.RetryMax = 0
	if err := s.Send(t.Context(), message()); err == nil || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("error %v", err)
	}
	for _, address := range []string{"t0ken", "ftp://t0ken", "http://", "http://a b/t0ken", "://t0ken"} {
		if _, err := NewSender(address); err == nil || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("New(%q): %v", address, err)
		}
	}
}

func TestALongMessageIsCut(t *testing.T) {
	m := message()
	m.Text = strings.Repeat("x", 2*longestText)
	if n := len(newPayload(m).Message); n != longestText {
		t.Errorf("%d bytes, want %d", n, longestText)
	}
}
