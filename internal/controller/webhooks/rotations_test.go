package webhooks

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// tokenServer has the Secrets of a namespace. Its watches hand over what there is, and then what is changed.
type tokenServer struct {
	live.Reader

	mu      sync.Mutex
	secrets map[string]object.Object
	handle  map[string]func(live.Event)
}

func (s *tokenServer) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, there := s.secrets[id.Name]; there {
		return o, nil
	}
	return nil, live.ErrNotFound
}

// listed is a watch that has its first list.
type listed struct{ live.Watch }

func (listed) Synced() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
func (listed) Failed() <-chan struct{} { return nil }
func (listed) Err() error              { return nil }

// Watch implements live.Watcher for Secrets; of another kind there is nothing.
func (s *tokenServer) Watch(_ context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	if i.GVK.Kind != "Secret" {
		return listed{}
	}
	s.mu.Lock()
	s.handle[i.Name] = handle
	o, there := s.secrets[i.Name]
	s.mu.Unlock()
	if there {
		handle(secretEvent(i.Name, o))
	}
	return listed{}
}

func secretEvent(name string, o object.Object) live.Event {
	return live.Event{ID: object.ID{Kind: "Secret", Namespace: "flux", Name: name}, Gone: o == nil, Object: o}
}

// change puts a Secret with a token into the place of another; none for an empty token.
func (s *tokenServer) change(name, version, token string) {
	s.mu.Lock()
	delete(s.secrets, name)
	if token != "" {
		s.secrets[name] = secretOf(nil, map[string]string{"token": token})
		s.secrets[name]["metadata"].(map[string]any)["resourceVersion"] = version
	}
	handle := s.handle[name]
	o := s.secrets[name]
	s.mu.Unlock()
	if handle != nil {
		handle(secretEvent(name, o))
	}
}

// receiverDialect has Receivers whose path is their token, and leaves statuses as they are.
type receiverDialect struct{}

func (receiverDialect) Kind() object.GVK { return object.GVK{Kind: "Receiver"} }

func (receiverDialect) Receiver(cr object.Object) webhook.Receiver {
	return webhook.Receiver{Key: webhook.Key{Namespace: "flux", Name: cr.Name()}, Type: cr.StringAt("spec", "type"), Secret: "token", Interval: time.Hour}
}

func (receiverDialect) WebhookPath(_ webhook.Key, token string) string { return "/hook/" + token }

func (receiverDialect) Status(cr object.Object, _ webhook.State) map[string]any {
	status, _ := cr.At("status").(map[string]any)
	return status
}

// TestASecretThatIsRotatedCountsAtOnce: a token that has leaked is refused as soon as it is replaced or its Secret is deleted, whatever the interval of the Receiver, and
// the new one is taken.
func TestASecretThatIsRotatedCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &tokenServer{secrets: map[string]object.Object{}, handle: map[string]func(live.Event){}}
		server.change("token", "1", "leaked")
		h := NewHooks(Options{Watcher: server, Live: server, Dialect: receiverDialect{}, Place: Place{Listen: ":0"}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		synctest.Wait()
		h.onReceiver(live.Event{ID: object.ID{Kind: "Receiver", Namespace: "flux", Name: "push"}, Object: object.Object{
			"metadata": map[string]any{"namespace": "flux", "name": "push"}, "spec": map[string]any{"type": "generic"}, "status": map[string]any{},
		}})
		look := func(when string, leaked, rotated int) {
			t.Helper()
			synctest.Wait()
			for token, want := range map[string]int{"leaked": leaked, "rotated": rotated} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hook/"+token, strings.NewReader("{}")))
				if w.Code != want {
					text, _ := io.ReadAll(w.Body)
					t.Errorf("%s, the token %s: %d %s, want %d", when, token, w.Code, text, want)
				}
			}
		}
		look("at first", 200, 404)
		server.change("token", "2", "rotated")
		look("after the rotation", 404, 200)
		server.change("token", "", "")
		look("without the Secret", 404, 404)
		server.change("token", "3", "rotated")
		look("with the Secret again", 404, 200)
		h.onReceiver(live.Event{ID: object.ID{Kind: "Receiver", Namespace: "flux", Name: "push"}, Gone: true})
		look("without the Receiver", 404, 404)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
