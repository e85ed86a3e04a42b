package deliver_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// queue stores a message for a Provider and has it sent.
func (f *fixture) queue(p deliver.Loaded, m notify.Message) {
	f.t.Helper()
	f.queueForm(p, m, nil)
}

// queueForm is queue, in the words of a template.
func (f *fixture) queueForm(p deliver.Loaded, m notify.Message, form *route.Form) {
	f.t.Helper()
	f.mu.Lock()
	f.providers[p.Key] = p
	f.mu.Unlock()
	m.About, m.At = object.ID{Kind: "Kustomization", Namespace: "shop", Name: "web"}, time.Now()
	if err := f.Store.Update(func(tx *outbox.Tx) error { return tx.Push(p.Key, route.Note{Message: m, Form: form}) }); err != nil {
		f.t.Fatal(err)
	}
	f.Wake(p.Key)
}

// TestAGitHubAppWritesCommitStatuses: one token for all; what is no result of a run is done without a request; a commit that is gone, and a template of Argo CD's that names none, delay
// nothing.
func TestAGitHubAppWritesCommitStatuses(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	const canary = "canary-77c1"
	var tokens, statuses atomic.Int64
	var last atomic.Value
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch text, _ := io.ReadAll(r.Body); {
		case r.URL.Path == "/api/v3/app/installations/42/access_tokens":
			tokens.Add(1)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"token":"ghs_%s","expires_at":%q}`, canary, time.Now().Add(time.Hour).Format(time.RFC3339))
		case r.Header.Get("Authorization") != "Bearer ghs_"+canary:
			http.Error(w, "who are you? "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, strings.Repeat("0", 40)):
			http.Error(w, "no such commit for ghs_"+canary, http.StatusNotFound)
		default:
			statuses.Add(1)
			last.Store(r.URL.Path + " " + string(text))
			w.WriteHeader(http.StatusCreated)
		}
	}))
	defer api.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	p := deliver.Loaded{Provider: route.Provider{
		Key: route.Key{Namespace: "shop", Name: "status"}, UID: "a1-b2", Type: "github", Address: api.URL + "/org/fleet", Timeout: 30 * time.Second, Secret: "app", Certificates: "ca",
	}}
	p.CertificateData = map[string][]byte{"ca.crt": ca}
	p.SecretData = map[string][]byte{
		"githubAppID": []byte("4711"), "githubAppInstallationID": []byte("42"), "githubAppBaseURL": []byte(api.URL + "/api/v3"),
		"githubAppPrivateKey": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
	f := newFixture(t, here)
	success := func(sha string) notify.Message {
		return notify.Message{Event: notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded", Revision: "main@sha1:" + sha}, Matter: notify.Matter{Kind: matter.Failure, Phase: notify.Ends}}
	}
	f.queue(p, notify.Message{Event: notify.Event{Severity: notify.Error, Reason: "FieldContested", Text: "no result"}})
	f.queue(p, success(strings.Repeat("0", 40)))
	if err := f.result(); err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), canary) {
		t.Errorf("of a commit that is gone: %v", err)
	}
	f.queue(p, success(strings.Repeat("a", 40)))
	if err := f.result(); err != nil {
		t.Fatal(err)
	}
	text, _ := last.Load().(string)
	if want := "/api/v3/repos/org/fleet/statuses/" + strings.Repeat("a", 40) + ` {"context":"kustomization/web/a1",`; !strings.HasPrefix(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
	ofTemplate := func(revision string) *route.Form {
		return &route.Form{Text: "done", Fields: map[string]string{"repoURL": api.URL + "/org/fleet.git", "revision": revision, "state": "success", "label": "cd/web"}}
	}
	p.Key.Name, p.Type, p.Address = "template", "argocd-github", api.URL+"/api/v3"
	for revision, want := range map[string]string{"main": "names no commit", strings.Repeat("0", 40): "404"} {
		f.queueForm(p, notify.Message{}, ofTemplate(revision))
		if err := f.result(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("of the revision %s: %v", revision, err)
		}
	}
	f.queueForm(p, notify.Message{}, ofTemplate(strings.Repeat("b", 40)))
	if err := f.result(); err != nil {
		t.Fatal(err)
	}
	text, _ = last.Load().(string)
	if want := "/api/v3/repos/org/fleet/statuses/" + strings.Repeat("b", 40) + ` {"context":"cd/web",`; !strings.HasPrefix(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
	if tokens.Load() != 1 || statuses.Load() != 2 {
		t.Errorf("%d tokens for %d statuses, want one for two", tokens.Load(), statuses.Load())
	}
}
