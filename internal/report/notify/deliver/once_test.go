package deliver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/sample"
)

// TestARequestIsShownWithoutCredentials: of each type, with credentials in every place where a Provider can have them.
func TestARequestIsShownWithoutCredentials(t *testing.T) {
	for _, kind := range payload.TypeNames() {
		p := deliver.Loaded{Provider: route.Provider{
			Key: route.Key{Namespace: "shop", Name: "p"}, Type: kind, Channel: "room/topic", Secret: "s",
			Address: "https://user:CANARY-password@chat.example.com/org/CANARY-path?key=CANARY-query",
		}}
		p.SecretData = map[string][]byte{
			"token": []byte("CANARY-token"), "username": []byte("CANARY-user"), "password": []byte("CANARY-pass"), "headers": []byte("X-Api-Key: CANARY-header"),
		}
		if kind == "pagerduty" {
			p.Channel = "CANARY-routing"
		}
		shown := 0
		for _, m := range sample.Messages(time.Now(), "shop") {
			for _, c := range payload.JoinMessages(kind, []route.Note{route.Alert{}.Address(m)}) {
				if c.Nothing {
					continue
				}
				r, err := deliver.ShowRequest(p, c)
				if text := fmt.Sprint(r.Method, r.URL, r.Headers, string(r.Body), err); strings.Contains(text, "CANARY") {
					t.Errorf("%s shows a credential: %s", kind, text)
				}
				if err == nil {
					shown++
				}
			}
		}
		if shown == 0 {
			t.Logf("%s: no request can be made of this Provider", kind)
		}
	}
}

// TestADegradedAppWaitsForItsCause: its pods say a moment later why, and both are one message.
func TestADegradedAppWaitsForItsCause(t *testing.T) {
	begun := time.Now()
	degraded := func(form string, after time.Duration) route.Note {
		m := notify.Message{Event: notify.Event{Severity: notify.Error}, Matter: notify.Matter{Kind: matter.Unhealthy, Phase: notify.Opens, Form: form}, At: begun.Add(after)}
		return route.Note{Message: m}
	}
	for _, c := range []struct {
		notes []route.Note
		after time.Duration
		want  bool
	}{
		{[]route.Note{degraded("", 0)}, 2 * time.Second, false},
		{[]route.Note{degraded("", 0)}, 4 * time.Second, true},
		{[]route.Note{degraded("", 0), degraded("the cause is known", time.Second)}, 2 * time.Second, true},
	} {
		if got := deliver.DefaultWindows().IsDue(c.notes, begun.Add(c.after)); got != c.want {
			t.Errorf("%d notes after %s: due %v", len(c.notes), c.after, got)
		}
	}
}

// TestTheUsernameOfTheSecretIsThatOfTheSender: it overrides the Provider's, as in Flux.
func TestTheUsernameOfTheSecretIsThatOfTheSender(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Username string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		got <- body.Username
	}))
	defer s.Close()
	f := newFixture(t, here)
	f.Windows = deliver.Windows{}
	for _, kind := range []string{"slack", "rocket", "discord"} {
		for secret, want := range map[string]string{"": "of-the-spec", "of-the-secret\n": "of-the-secret"} {
			p := address(s.URL)
			p.Type, p.Username, p.SecretData = kind, "of-the-spec", map[string][]byte{"username": []byte(secret)}
			f.send(fmt.Sprint(kind, len(secret)), p, "news")
			if err := f.result(); err != nil {
				t.Fatal(err)
			}
			if name := <-got; name != want {
				t.Errorf("%s with the username %q in its Secret: %q, want %q", kind, secret, name, want)
			}
		}
	}
}
