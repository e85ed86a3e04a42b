package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// secretServer has the Secrets of Argo CD's namespace.
type secretServer struct {
	live.Reader
	secrets map[string]object.Object
	fails   map[string]error
}

func (s secretServer) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	if err := s.fails[id.Name]; err != nil {
		return nil, err
	}
	o, there := s.secrets[id.Name]
	if !there || id.Namespace != project.ArgoNamespace || id.Kind != "Secret" {
		return nil, live.ErrNotFound
	}
	return o, nil
}

func secretOf(labels map[string]any, data map[string]string) object.Object {
	texts := map[string]any{}
	for key, value := range data {
		texts[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return object.Object{"metadata": map[string]any{"labels": labels}, "data": texts}
}

type noWork struct{ Work }

func (noWork) RequestPushed(webhook.Push) int { return 0 }

// TestAReferenceOfArgoCDsSecretIsResolved: the value of the other Secret signs, and the text of the reference never does. What leads nowhere makes no open endpoint.
func TestAReferenceOfArgoCDsSecretIsResolved(t *testing.T) {
	label := map[string]any{"app.kubernetes.io/part-of": "argocd"}
	for name, c := range map[string]struct {
		secret string
		key    string // that signs; empty where no key does
		status int    // with it, or without a signature
		log    string
	}{
		"a value":                    {secret: "s3cret", key: "s3cret", status: 200},
		"a value with a dollar":      {secret: "$tr0ng!", key: "$tr0ng!", status: 200},
		"a key of another Secret":    {secret: "$hooks:github", key: "0ther", status: 200},
		"a key of its own":           {secret: "$mine", key: "0wn", status: 200},
		"a Secret without a label":   {secret: "$bare:github", status: 401, log: "Secret argocd/bare has no label app.kubernetes.io/part-of: argocd"},
		"a Secret that is not there": {secret: "$gone:github", status: 401, log: "Secret argocd/gone is not there"},
		"a key that is not there":    {secret: "$hooks:gitlab", status: 401, log: "Secret argocd/hooks has no key gitlab"},
		"a key that is empty":        {secret: "$hooks:empty", status: 401, log: "Secret argocd/hooks has no key empty"},
		"no key of its own":          {secret: "$none", status: 401, log: "argocd-secret has no such key"},
		"a name that none can have":  {secret: "$Hooks:github", status: 401, log: "no Secret can have its name"},
		"a Secret that is withheld":  {secret: "$withheld:github", status: 401, log: "truce may not read Secret argocd/withheld"},
		"a server that is away":      {secret: "$away:github", status: 503, log: "read Secret argocd/away"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			h := NewHooks(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Work: noWork{}, Live: secretServer{
				fails: map[string]error{"away": errors.New("away"), "withheld": apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "withheld", nil)},
				secrets: map[string]object.Object{
					"argocd-secret": secretOf(nil, map[string]string{"webhook.github.secret": c.secret, "mine": "0wn", "server.secretkey": "$hooks:none"}),
					"hooks":         secretOf(label, map[string]string{"github": "0ther\n", "empty": ""}),
					"bare":          secretOf(nil, map[string]string{"github": "0ther"}),
				},
			}})
			if got := h.pushWith(c.key); got != c.status {
				t.Errorf("with the key %q: %d, want %d", c.key, got, c.status)
			}
			if got := h.pushWith(c.secret); c.key != c.secret && got < 400 {
				t.Errorf("with the text of the reference: %d", got)
			}
			if got := h.pushWith("guessed"); got < 400 {
				t.Errorf("with another key: %d", got)
			}
			if text := log.String(); !strings.Contains(text, c.log) || c.log != "" && strings.Count(text, "webhook.github.secret") > 1 || strings.Contains(text, "$") || strings.Contains(text, "none:") {
				t.Errorf("the log is %q, want %q", text, c.log)
			}
		})
	}
}

// TestAStrangerDoesNotUseUpWhatTheSenderMaySend: the path is known to all, and a push that is turned away is not sent again by most servers.
func TestAStrangerDoesNotUseUpWhatTheSenderMaySend(t *testing.T) {
	h := NewHooks(Options{Log: slog.New(slog.DiscardHandler), Work: noWork{}, Live: secretServer{
		secrets: map[string]object.Object{"argocd-secret": secretOf(nil, map[string]string{"webhook.github.secret": "s3cret"})},
	}})
	for range 3 * burst {
		if got := h.pushWith("guessed"); got != http.StatusUnauthorized {
			t.Fatalf("a stranger: %d", got)
		}
	}
	if got := h.pushWith("s3cret"); got != http.StatusOK {
		t.Errorf("the sender, after a stranger: %d", got)
	}
	var got int
	for range 3 * burst {
		got = h.pushWith("s3cret")
	}
	if got != http.StatusTooManyRequests {
		t.Errorf("the sender, who sends too much: %d", got)
	}
}

// failing panics, and counts that.
type failing struct {
	Work
	panics map[string]int
}

func (failing) RequestPushed(webhook.Push) int { panic("no map") }

func (f failing) CountPanic(work string) { f.panics[work]++ }

// TestAPanicOfARequestIsCounted: truce_panics_total is what people are alerted by.
func TestAPanicOfARequestIsCounted(t *testing.T) {
	work := failing{panics: map[string]int{}}
	h := NewHooks(Options{Log: slog.New(slog.DiscardHandler), Work: work, Panics: work, Live: secretServer{
		secrets: map[string]object.Object{"argocd-secret": secretOf(nil, nil)},
	}})
	h.leads.Store(true)
	r := httptest.NewRequest(http.MethodPost, argoPath, strings.NewReader(`{"ref":"refs/heads/main","repository":{"clone_url":"https://git.example.com/a"}}`))
	r.Header.Set("X-GitHub-Event", "push")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusInternalServerError || work.panics["webhook"] != 1 {
		t.Errorf("answered with %d, counted %v", w.Code, work.panics)
	}
}

// pushWith sends a push as GitHub does, and returns the status of the answer. An empty key sends no signature.
func (h *Hooks) pushWith(key string) int {
	body := `{"ref":"refs/heads/main","repository":{"clone_url":"https://git.example.com/a"}}`
	r := httptest.NewRequest(http.MethodPost, argoPath, strings.NewReader(body))
	r.Header.Set("X-GitHub-Event", "push")
	if key != "" {
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	}
	w := httptest.NewRecorder()
	h.pushed(w, r)
	return w.Code
}
