package stories

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/report/notify/webhook"
)

// heard is a message as a receiver of Flux's events reads it.
type heard struct {
	InvolvedObject struct{ Kind, Namespace, Name string }
	Severity       string
	Reason         string
	Message        string
	Metadata       map[string]string
}

// receiver is an HTTP server in the place of Flux's notification-controller. It returns its address, and what came in.
func receiver(t *testing.T) (string, <-chan heard) {
	t.Helper()
	in := make(chan heard, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var m heard
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Errorf("a message that nobody can read: %v: %s", err, text)
		}
		in <- m
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.Close)
	return s.URL, in
}

// hears waits for a message, and returns what came in until then.
func (w *world) hears(in <-chan heard, is func(heard) bool) []heard {
	w.t.Helper()
	var all []heard
	late := time.After(patience)
	for {
		select {
		case m := <-in:
			if all = append(all, m); is(m) {
				return all
			}
		case <-late:
			w.t.Fatalf("not heard; came in: %v", all)
		}
	}
}

// TestAReceiverHearsWhatEventsTell: success, a fight with its evidence and its end, a failure and its end; once each. Providers and Alerts are left to the receiver, as to
// Flux's notification-controller: nothing is sent by them.
func TestAReceiverHearsWhatEventsTell(t *testing.T) {
	w := offWorld(t, document3)
	address, in := receiver(t)
	to, err := webhook.NewSender(address)
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(t)
	w.notifies(e, "generic", "/provider", "")
	w.run(compose.RunOptions{Notify: to, Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	of := func(severity, reason string) func(heard) bool {
		return func(m heard) bool {
			return m.InvolvedObject.Kind == "Kustomization" && m.InvolvedObject.Name == "my-app" && m.InvolvedObject.Namespace == w.ns && m.Severity == severity && m.Reason == reason
		}
	}
	all := w.hears(in, of("info", "ReconciliationSucceeded"))
	first := all[len(all)-1]
	if revision := first.Metadata["kustomize.toolkit.fluxcd.io/revision"]; !strings.HasPrefix(revision, "main@sha1:") {
		t.Errorf("the first message is of revision %q: %v", revision, first)
	}
	if got := first.Metadata["truce.dev/changed"]; got != "created Deployment.apps "+w.ns+"/my-app" {
		t.Errorf("the first message says that it has %q", got)
	}
	w.events("ReconciliationSucceeded", "Applied revision: main@sha1:")
	w.events("ReconciliationSucceeded", "; created Deployment.apps "+w.ns+"/my-app")

	stop := w.keeper(0)
	all = w.hears(in, of("error", "FieldContested"))
	last := all[len(all)-1]
	for _, evidence := range []string{`"nginx:1.21.0" (Git) vs "` + theirImage + `" (live, set by image-keeper)`, "put back 2 times since 20"} {
		if !strings.Contains(last.Message, evidence) {
			t.Errorf("the message does not say %s: %s", evidence, last.Message)
		}
	}
	if said := fmt.Sprint(last.Metadata["truce.dev/object"], " ", last.Metadata["truce.dev/verdict"], " ", last.Metadata["truce.dev/writer"]); !strings.Contains(said, "my-app Contested image-keeper") {
		t.Errorf("the evidence: %v", last.Metadata)
	}
	stop()

	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: [3")
	w.hears(in, of("error", "BuildFailed"))
	w.check("my-app") // the same failure again
	w.edit("apps/my-app/my-app.yaml", "replicas: [3", "replicas: 4")
	failures := 0
	all = w.hears(in, of("info", "ReconciliationSucceeded"))
	for _, m := range all {
		if m.Reason == "BuildFailed" {
			failures++
		}
	}
	if got := all[len(all)-1].Metadata["truce.dev/changed"]; got != "configured Deployment.apps "+w.ns+"/my-app" {
		t.Errorf("the message of the second revision says that it has %q", got)
	}
	if failures > 0 {
		t.Errorf("the same failure was told %d times more", failures)
	}
	w.hears(in, of("info", "FieldSettled")) // the commit overrides the breaker once
	if sent := e.at("/provider"); len(sent) > 0 {
		t.Errorf("with a receiver of Events truce sends by Providers, too: %s", strings.Join(sent, "\n"))
	}
}
