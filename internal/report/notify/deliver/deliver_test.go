package deliver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// fixture is a Deliverer with Providers of the test.
type fixture struct {
	*deliver.Deliverer
	t         *testing.T
	mu        sync.Mutex
	providers map[route.Key]deliver.Loaded
	results   chan error
	idle      chan route.Key
}

func (f *fixture) Provider(_ context.Context, key route.Key) (deliver.Loaded, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.providers[key]
	return p, ok, nil
}

func (f *fixture) OnDelivery(_ route.Key, err error) { f.results <- err }

func (f *fixture) OnIdle(key route.Key) {
	select {
	case f.idle <- key:
	default:
	}
}

func newFixture(t *testing.T, servers egress.Policy) *fixture {
	t.Helper()
	store, err := outbox.OpenStore(filepath.Join(t.TempDir(), "x.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, providers: map[route.Key]deliver.Loaded{}, results: make(chan error, 100), idle: make(chan route.Key, 100)}
	f.Deliverer = &deliver.Deliverer{Store: store, Providers: f, Servers: servers, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	ctx, cancel := context.WithCancel(context.Background())
	f.Start(ctx)
	t.Cleanup(func() {
		cancel()
		f.Wait()
		_ = store.Close()
	})
	return f
}

// send queues a message for a Provider with an address.
func (f *fixture) send(name string, p deliver.Loaded, text string) {
	f.t.Helper()
	p.Key, p.Timeout = route.Key{Namespace: "shop", Name: name}, 30*time.Second
	if p.Type == "" {
		p.Type = "generic"
	}
	f.mu.Lock()
	f.providers[p.Key] = p
	f.mu.Unlock()
	err := f.Store.Update(func(tx *outbox.Tx) error {
		return tx.Push(p.Key, route.Note{Message: notify.Message{
			Event: notify.Event{Severity: notify.Error, Reason: "Test", Text: text}, About: object.ID{Kind: "Kustomization", Namespace: "shop", Name: "web"}, At: time.Now(),
		}})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Wake(p.Key)
}

func (f *fixture) result() error {
	f.t.Helper()
	select {
	case err := <-f.results:
		return err
	case <-time.After(time.Minute):
		f.t.Fatal("nothing was sent")
		return nil
	}
}

var here = egress.Policy{Allowed: []string{"127.0.0.0/8"}}

func address(url string) deliver.Loaded {
	return deliver.Loaded{Provider: route.Provider{Address: url}}
}

func TestAMessageIsTriedAgainUntilItIsTaken(t *testing.T) {
	calls, body := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		if calls++; calls < 3 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer s.Close()
	f := newFixture(t, here)
	begin := time.Now()
	f.send("chat", address(s.URL), "the first")
	for i := range 3 {
		if err := f.result(); (err == nil) != (i == 2) {
			t.Errorf("try %d: %v", i, err)
		}
	}
	if took := time.Since(begin); took < 2*time.Second {
		t.Errorf("took %s, and the server asked twice for a second", took)
	}
	select { // the goroutine of a Provider for which nothing waits ends, and another begins when something comes
	case <-f.idle:
	case <-time.After(time.Minute):
		t.Fatal("nothing waits, and the Provider is not idle")
	}
	f.send("chat", address(s.URL), "the second")
	if err := f.result(); err != nil || calls != 4 || strings.Contains(body, "the first") || !strings.Contains(body, "the second") {
		t.Errorf("what was taken is sent again: %v, %d calls, %s", err, calls, body)
	}
}

// TestAnEndThatWaitsOutlivesASuspension: the alert that it closes is open at the receiver.
func TestAnEndThatWaitsOutlivesASuspension(t *testing.T) {
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	defer s.Close()
	f := newFixture(t, here)
	p := address(s.URL)
	p.Type, p.Suspended = "alertmanager", true
	key := route.Key{Namespace: "shop", Name: "oncall"}
	about := object.ID{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	err := f.Store.Update(func(tx *outbox.Tx) error {
		return tx.Push(key, route.Note{Message: notify.Message{
			Event: notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded", Text: "the end"}, About: about, At: time.Now(),
			Matter: notify.Matter{Kind: "failure", Phase: notify.Ends},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	f.send("oncall", p, "an opening")
	for deadline := time.Now().Add(time.Minute); ; {
		left, _, err := f.Store.Pending(key)
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			t.Fatalf("%d messages wait, %v", len(left), err)
		}
		if len(left) == 1 {
			break
		}
	}
	p.Suspended = false
	f.send("oncall", p, "another opening")
	if err := f.result(); err != nil {
		t.Fatal(err)
	}
	if body := <-bodies; !strings.Contains(body, "the end") && !strings.Contains(body, "endsAt") || strings.Contains(body, "an opening") {
		t.Errorf("sent: %s", body)
	}
}

// TestTheVendorsPauseIsKept: as a header in seconds or a date, and as each vendor has it in the body.
func TestTheVendorsPauseIsKept(t *testing.T) {
	for name, c := range map[string]struct{ kind, header, body string }{
		"seconds":  {"generic", "2", ""},
		"a date":   {"generic", "date", ""},
		"Telegram": {"telegram", "", `{"ok":false,"error_code":429,"parameters":{"retry_after":2}}`},
		"Discord":  {"discord", "", `{"message":"You are being rate limited.","retry_after":2.1,"global":false}`},
		"Matrix":   {"matrix", "", `{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2000}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if calls++; calls > 1 {
					return
				}
				switch c.header {
				case "":
				case "date":
					w.Header().Set("Retry-After", time.Now().Add(4*time.Second).UTC().Format(http.TimeFormat)) // which has no fractions
				default:
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, c.body)
			}))
			defer s.Close()
			f := newFixture(t, here)
			p := address(s.URL)
			p.Type, p.Channel, p.Secret, p.SecretData = c.kind, "room", "s", map[string][]byte{"token": []byte("t0ken-1")}
			begin := time.Now()
			f.send("chat", p, "x")
			if err := f.result(); err == nil {
				t.Fatal("the server has refused it")
			}
			if err := f.result(); err != nil || time.Since(begin) < 2*time.Second {
				t.Errorf("%v after %s, and the server asked for two seconds", err, time.Since(begin))
			}
		})
	}
}

// TestAProviderThatIsRepairedIsTriedAtOnce: its old server has asked for a pause of an hour, which is not the new one's.
func TestAProviderThatIsRepairedIsTriedAtOnce(t *testing.T) {
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer away.Close()
	alive := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer alive.Close()
	f := newFixture(t, here)
	f.send("chat", address(away.URL), "x")
	if err := f.result(); err == nil {
		t.Fatal("the server has refused it")
	}
	key := route.Key{Namespace: "shop", Name: "chat"}
	f.mu.Lock()
	repaired := f.providers[key]
	repaired.Address = alive.URL
	f.providers[key] = repaired
	f.mu.Unlock()
	f.WakeChanged(key)
	if err := f.result(); err != nil {
		t.Errorf("of the new server: %v", err)
	}
}

// TestAFullQueueWaitsForNoOther: of more apps than a queue holds each is in a message, though the window would be open for an hour.
func TestAFullQueueWaitsForNoOther(t *testing.T) {
	f := newFixture(t, here)
	f.Windows = deliver.Windows{Quiet: time.Hour, Most: time.Hour, CommitQuiet: time.Hour, CommitMost: time.Hour}
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	t.Cleanup(s.Close)
	p := address(s.URL)
	p.Key, p.Type, p.Timeout = route.Key{Namespace: "shop", Name: "chat"}, "slack", 30*time.Second
	f.providers[p.Key] = p
	for full := range 2 {
		err := f.Store.Update(func(tx *outbox.Tx) error {
			for n := range outbox.Most {
				about := object.ID{Kind: "Kustomization", Namespace: "shop", Name: fmt.Sprintf("app-%d-%d", full, n)}
				note := route.Note{Message: notify.Message{Event: notify.Event{Reason: "ReconciliationSucceeded", Text: "Applied", Revision: "main@sha1:1"}, About: about, At: time.Now()}}
				if err := tx.Push(p.Key, note); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Wake(p.Key)
		if err := f.result(); err != nil {
			t.Fatal(err)
		}
		if body := <-bodies; !strings.Contains(body, fmt.Sprintf("%d apps", outbox.Most)) || strings.Contains(body, "dropped") {
			t.Errorf("the message is %.300s", body)
		}
	}
}

func TestAnEndpointThatHangsDelaysNoOther(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hung.Close()
	defer close(release)
	alive := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer alive.Close()
	f := newFixture(t, here)
	f.send("hung", address(hung.URL), "x")
	f.send("alive", address(alive.URL), "x")
	if err := f.result(); err != nil {
		t.Errorf("%v", err)
	}
}

// TestNoCredentialIsInAnError: an endpoint repeats what it was sent, in each way that it can.
func TestNoCredentialIsInAnError(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.URL, r.Header.Get("Authorization"), body)
	}))
	defer echo.Close()
	f := newFixture(t, here)
	data := map[string][]byte{"address": []byte(echo.URL + "/CANARYpath/x?key=CANARYquery"), "token": []byte("CANARYtoken1"), "headers": []byte("X-Key: CANARYheader")}
	for _, kind := range []string{"generic", "generic-hmac", "slack", "discord", "opsgenie", "datadog"} {
		f.send(kind, deliver.Loaded{Provider: route.Provider{Type: kind, Channel: "general", Secret: "s"}, SecretData: data}, "x")
		if err := f.result(); err == nil || !strings.Contains(err.Error(), "403 Forbidden") || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestARedirectToAnotherServerGetsNothing(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	f := newFixture(t, here)
	f.send("chat", address(s.URL), "x")
	if err := f.result(); err == nil || !strings.Contains(err.Error(), "redirects to another one") {
		t.Errorf("%v", err)
	}
}

// TestARedirectThatDropsTheMessageIsNoSuccess: net/http turns a POST into a GET after 301, 302 and 303, and the page that answers it, such as a login, is a success.
func TestARedirectThatDropsTheMessageIsNoSuccess(t *testing.T) {
	for status, want := range map[int]string{301: "", 302: "without the message", 303: "without the message", 307: "", 308: ""} {
		taken := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hook" {
				http.Redirect(w, r, "/hook/CANARYkey", status)
				return
			}
			text, _ := io.ReadAll(r.Body)
			taken = string(text)
		}))
		f := newFixture(t, here)
		f.send("chat", address(s.URL+"/hook"), "x")
		err := f.result()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY")) {
			t.Errorf("%d: %v, want %q", status, err, want)
		}
		if want == "" && !strings.Contains(taken, `"message":"x"`) {
			t.Errorf("%d: the server got %q", status, taken)
		}
		s.Close()
	}
}

// TestAProviderReachesNoMetadataService: neither this machine, nor its link, however it is written.
func TestAProviderReachesNoMetadataService(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("this machine was asked") }))
	defer s.Close()
	f := newFixture(t, egress.Policy{})
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for i, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "169.254.169.254", "[fd00:ec2::254]"} {
		f.send(fmt.Sprint("p", i), address("http://"+host+":"+port+"/latest"), "x")
		if err := f.result(); err == nil || !strings.Contains(err.Error(), "loopback, link-local or metadata address") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestASecretThatIsNotThereIsNamed(t *testing.T) {
	f := newFixture(t, here)
	f.send("chat", deliver.Loaded{Provider: route.Provider{Secret: "token"}}, "x")
	if err := f.result(); err == nil || err.Error() != "Secret shop/token is not there" {
		t.Errorf("%v", err)
	}
}

// TestAnAnswerThatIsUnderWayIsWaitedFor: a process that ends while a receiver takes a message does not leave it to be sent again.
func TestAnAnswerThatIsUnderWayIsWaitedFor(t *testing.T) {
	came, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(came)
		<-release
	}))
	defer s.Close()
	f := newFixture(t, here)
	ctx, end := context.WithCancel(t.Context())
	f.Start(ctx)
	f.send("chat", address(s.URL), "x")
	<-came
	end()
	close(release)
	f.Wait()
	if left, _, err := f.Store.Pending(route.Key{Namespace: "shop", Name: "chat"}); err != nil || len(left) != 0 {
		t.Errorf("%d messages are left, %v: want none, the receiver has taken it", len(left), err)
	}
}
