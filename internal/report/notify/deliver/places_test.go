package deliver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// argoWebhook queues messages for a webhook of Argo CD's: each is an Application, a path and a body.
func (f *fixture) argoWebhook(url string, messages ...[3]string) {
	f.t.Helper()
	p := address(url)
	p.Key, p.Type, p.Timeout = route.Key{Namespace: "argocd", Name: "hook"}, payload.ArgoService+"webhook", 30*time.Second
	p.SecretData = map[string][]byte{"address": []byte(url)}
	f.mu.Lock()
	f.providers[p.Key] = p
	f.mu.Unlock()
	err := f.Store.Update(func(tx *outbox.Tx) error {
		for _, m := range messages {
			about := object.ID{Kind: "Application", Namespace: "argocd", Name: m[0]}
			n := route.Note{Message: notify.Message{Event: notify.Event{Reason: "on-deployed"}, About: about, At: time.Now()}, Form: &route.Form{Method: "POST", Path: m[1], Body: m[2]}}
			if err := tx.Push(p.Key, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Wake(p.Key)
}

// TestARefusalOfOneAddressHoldsUpNoOther: a webhook of Argo CD's has the repository in its path, and one of these is not there for a while. What comes later for
// the same one waits for its turn.
func TestARefusalOfOneAddressHoldsUpNoOther(t *testing.T) {
	for _, status := range []int{403, 404, 405, 409, 410} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var got []string
			tries, done := 0, make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/repos/gone" {
					if tries++; tries < 3 {
						w.WriteHeader(status)
						got = append(got, "refused")
						return
					}
				}
				got = append(got, string(text))
				if string(text) == "gone 2" {
					close(done)
				}
			}))
			defer s.Close()
			f := newFixture(t, here)
			f.argoWebhook(s.URL, [3]string{"a", "/repos/gone", "gone 1"}, [3]string{"b", "/repos/web", "web"}, [3]string{"a", "/repos/gone", "gone 2"})
			if err := f.result(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("of the first: %v", err)
			}
			if err := f.result(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("while one waits the Provider is shown as failing: %v", err)
			}
			<-done
			if want := []string{"refused", "web", "refused", "gone 1", "gone 2"}; !slices.Equal(got, want) {
				t.Errorf("the server got %q, want %q", got, want)
			}
			for err := f.result(); err != nil; err = f.result() { // the second try
			}
		})
	}
}

// TestWhatMayConcernAllHoldsUpAll: another server, the credentials, a pause that the server asks for, and a Provider of another type.
func TestWhatMayConcernAllHoldsUpAll(t *testing.T) {
	for name, c := range map[string]struct {
		kind, pause string
		status      int
	}{
		"the server":      {payload.ArgoService + "webhook", "", 503},
		"the credentials": {payload.ArgoService + "webhook", "", 401},
		"a pause":         {payload.ArgoService + "webhook", "1", 403},
		"another type":    {"generic", "", 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := make(chan string, 10)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				calls <- r.URL.Path + " " + string(body)
				w.Header().Set("Retry-After", c.pause)
				w.WriteHeader(c.status)
			}))
			defer s.Close()
			f := newFixture(t, here)
			f.Windows = deliver.Windows{}
			key := route.Key{Namespace: "argocd", Name: "hook"}
			f.argoWebhook(s.URL, [3]string{"a", "/a", "a"}, [3]string{"b", "/b", "b"})
			f.mu.Lock()
			p := f.providers[key]
			p.Type = c.kind
			f.providers[key] = p
			f.mu.Unlock()
			for range 2 {
				if err := f.result(); err == nil {
					t.Error("it was refused")
				}
			}
			first, second := <-calls, <-calls
			if first != second {
				t.Errorf("%s and %s are tried: the second had to wait for the first", first, second)
			}
		})
	}
}

// TestAWebhookSendsTheSecretThatItsTemplateNames: the value of the moment at which it is sent. It is in no error, and a key that is not there is named.
func TestAWebhookSendsTheSecretThatItsTemplateNames(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + " " + string(text)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(text)
	}))
	defer s.Close()
	f := newFixture(t, here)
	f.Windows = deliver.Windows{}
	f.argoWebhook(s.URL, [3]string{"a", "/hooks/" + route.SecretMark("path"), "token=" + route.SecretMark("sample")})
	if err := f.result(); err == nil || err.Error() != "argocd-notifications-secret has no key path, which the template names" {
		t.Errorf("without the Secret: %v", err)
	}
	key := route.Key{Namespace: "argocd", Name: "hook"}
	f.mu.Lock()
	p := f.providers[key]
	p.SecretData = map[string][]byte{"address": []byte(s.URL), deliver.TemplateKey + "path": []byte("CANARY-path\n"), deliver.TemplateKey + "sample": []byte("CANARY-sample")}
	f.providers[key] = p
	f.mu.Unlock()
	f.WakeChanged(key)
	if err := f.result(); err == nil || !strings.Contains(err.Error(), "418") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("refused: %v", err)
	}
	if text := <-got; text != "/hooks/CANARY-path token=CANARY-sample" {
		t.Errorf("the server got %q", text)
	}
}
