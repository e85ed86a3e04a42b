package remote_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/remote"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
)

// server answers what the namespace kube-system is, as one cluster or, later, as another one behind the same address.
type server struct {
	*httptest.Server
	answer atomic.Pointer[string] // the uid; or the HTTP status without one
	asked  atomic.Int64
	held   atomic.Pointer[held]
}

// held are the answers to questions that were asked, until they are released.
type held struct{ asked, released chan struct{} }

func newServer(t *testing.T, answer string) *server {
	t.Helper()
	s := &server{}
	s.answer.Store(&answer)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		if h := s.held.Load(); h != nil {
			h.asked <- struct{}{}
			<-h.released
		}
		w.Header().Set("Content-Type", "application/json")
		text := *s.answer.Load()
		if code, refused := strings.CutPrefix(text, "status "); refused {
			var status int
			_, _ = fmt.Sscan(code, &status) // as it stands below
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"canary","reason":"","code":%d}`, status)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":%q}}`, text)
	}))
	t.Cleanup(s.Close)
	return s
}

// becomes makes the address lead elsewhere: connections end.
func (s *server) becomes(answer string) {
	s.answer.Store(&answer)
	s.CloseClientConnections()
}

func (s *server) connect(t *testing.T) *remote.Connection {
	t.Helper()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	k, err := cluster.ParseKubeconfig([]byte(fmt.Sprintf(`
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: a, user: {token: t}}]`, s.URL, ca)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := remote.Connect(k, remote.Options{UserAgent: "test", Dialer: &net.Dialer{Timeout: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// writes counts what reaches the cluster.
type writes struct{ deleted int }

func (w *writes) Apply(context.Context, apply.Apply) (object.Object, error) { return nil, nil }

func (w *writes) Edit(context.Context, apply.Edit) (object.Object, error) { return nil, nil }

func (w *writes) Delete(context.Context, apply.Target) error {
	w.deleted++
	return nil
}

func TestAServerThatBecomesAnotherClusterIsNotWritten(t *testing.T) {
	s, reached := newServer(t, "one"), &writes{}
	c := s.connect(t)
	writer := remote.Writer{Connection: c, Next: reached}
	for range 3 {
		if err := writer.Delete(t.Context(), apply.Target{}); err != nil {
			t.Fatal(err)
		}
	}
	if asked := s.asked.Load(); asked != 1 || reached.deleted != 3 {
		t.Errorf("%d questions for %d writes over one connection, want 1 for 3", asked, reached.deleted)
	}
	s.becomes("other")
	if _, err := c.Identify(t.Context()); err == nil || !strings.Contains(err.Error(), "is not the cluster that it was") {
		t.Errorf("the other cluster is taken for the first one: %v", err)
	}
	s.becomes("one")
	if err := writer.Delete(t.Context(), apply.Target{}); err == nil || reached.deleted != 3 || !c.Moved() {
		t.Errorf("%d writes, %v: a server that was two clusters is written", reached.deleted, err)
	}
}

func TestANewConnectionIsVerifiedBeforeAWrite(t *testing.T) {
	s, reached := newServer(t, "one"), &writes{}
	c := s.connect(t)
	if id, err := c.Identify(t.Context()); err != nil || id != "one" {
		t.Fatalf("%q, %v", id, err)
	}
	s.becomes("other")
	_, _ = c.Client().Version(t.Context()) // opens the connection to the other one, as a watch does
	if err := (remote.Writer{Connection: c, Next: reached}).Delete(t.Context(), apply.Target{}); err == nil || reached.deleted != 0 {
		t.Errorf("%d writes, %v", reached.deleted, err)
	}
}

// patient is a context that shows when its end is awaited for the first time.
type patient struct {
	context.Context
	awaited func()
}

// Done implements context.Context.
func (p patient) Done() <-chan struct{} {
	p.awaited()
	return p.Context.Done()
}

// TestAQuestionThatIsGivenUpIsNoAnswer also for a write that waits for the answer to it: it asks again.
func TestAQuestionThatIsGivenUpIsNoAnswer(t *testing.T) {
	s, reached := newServer(t, "one"), &writes{}
	c := s.connect(t)
	if _, err := c.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.becomes("other")
	_, _ = c.Client().Version(t.Context()) // opens the connection to the other one
	h := &held{make(chan struct{}, 9), make(chan struct{})}
	s.held.Store(h)
	ctx, giveUp := context.WithCancel(t.Context())
	gaveUp, written := make(chan error), make(chan error)
	go func() {
		_, err := c.Identify(ctx)
		gaveUp <- err
	}()
	<-h.asked
	waits := make(chan struct{})
	go func() {
		ctx := patient{t.Context(), sync.OnceFunc(func() { close(waits) })}
		written <- remote.Writer{Connection: c, Next: reached}.Delete(ctx, apply.Target{})
	}()
	<-waits
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the question was given up: %v", err)
	}
	close(h.released)
	if err := <-written; err == nil || reached.deleted != 0 {
		t.Errorf("%d writes to another cluster, %v", reached.deleted, err)
	}
}

func TestACredentialThatMayNotReadKubeSystemKnowsTheClusterByItsServer(t *testing.T) {
	s := newServer(t, "status 403")
	c := s.connect(t)
	id, err := c.Identify(t.Context())
	if err != nil || !strings.HasPrefix(id, "server-") || !c.Is(id) || c.Is("server-other") {
		t.Fatalf("%q, %v", id, err)
	}
	one := "one"
	s.answer.Store(&one)
	again := s.connect(t)
	if now, err := again.Identify(t.Context()); err != nil || now != "one" || !again.Is(id) {
		t.Errorf("with the right to read it the cluster is %q, %v; it was %q", now, err, id)
	}
}

func TestAFailureIsRememberedForAMoment(t *testing.T) {
	for status, want := range map[string]string{"status 401": "rejects the credentials", "status 500": "answers with HTTP status 500"} {
		s := newServer(t, status)
		c := s.connect(t)
		if _, err := c.Identify(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", status, err)
		}
		asked := s.asked.Load()
		if _, err := c.Identify(t.Context()); err == nil || s.asked.Load() != asked || c.Again().IsZero() {
			t.Errorf("%s: asked again at once, %v", status, err)
		}
		select {
		case <-c.Doubts():
		default:
			if status == "status 401" {
				t.Errorf("%s raised no doubt", status)
			}
		}
	}
}
