package stories

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// giteaHook sends a push as Gitea 1.26 does, as JSON or as a form, and returns the answer. Its signatures are those of the JSON; without a key they are empty.
func (w *world) giteaHook(to, key, contentType, payload string) (int, string) {
	w.t.Helper()
	body := payload
	if contentType != "application/json" {
		body = url.Values{"payload": {payload}}.Encode()
	}
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	sum := func(h func() hash.Hash) string {
		if key == "" {
			return ""
		}
		m := hmac.New(h, []byte(key))
		m.Write([]byte(payload))
		return hex.EncodeToString(m.Sum(nil))
	}
	for name, value := range map[string]string{
		"Content-Type": contentType, "X-Gitea-Event": "push", "X-Gogs-Event": "push", "X-GitHub-Event": "push", "X-Gitea-Signature": sum(sha256.New), "X-Gogs-Signature": sum(sha256.New),
		"X-Hub-Signature": "sha1=" + sum(sha1.New), "X-Hub-Signature-256": "sha256=" + sum(sha256.New),
	} {
		r.Header.Set(name, value)
	}
	return w.answer(r)
}

// TestGiteasWebhooksAreTaken: by a Receiver and at Argo CD's path, as JSON and as a form, which Gitea signs otherwise than GitHub. One without a secret is answered so.
func TestGiteasWebhooksAreTaken(t *testing.T) {
	w := offArgoWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	w.Apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: argocd-secret, namespace: "+w.ns+"}\nstringData: {webhook.gogs.secret: s3cret}")
	at := w.takesWebhooks(compose.RunOptions{})
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.receives("push", "s3cret", "events: [push]\nresources: [{kind: GitRepository, name: repo}]\nresourceFilter: req.ref == 'refs/heads/main'")
	w.ready("app")
	a := w.Watch(t, configmaps, w.ns, "a")
	payload := `{"ref":"refs/heads/main","repository":{"clone_url":"` + server.URL + `","default_branch":"main"}}`
	was := "a"
	for _, to := range []string{at + w.hookPath("push"), at + "/api/webhook"} {
		for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded"} {
			for key, want := range map[string]string{"": "no signature", "guessed": "does not match"} {
				if status, text := w.giteaHook(to, key, contentType, payload); status < 400 || !strings.Contains(text, want) {
					t.Errorf("%s as %s with the key %q: %d %s, want %q", to, contentType, key, status, text, want)
				}
			}
			next := was + "x"
			w.edit("app/a.yaml", `"k":"`+was+`"`, `"k":"`+next+`"`)
			if status, text := w.giteaHook(to, "s3cret", contentType, payload); status != 200 || !strings.Contains(text, "requested: 1") {
				t.Fatalf("%s as %s: %d %s", to, contentType, status, text)
			}
			w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == next })
			was = next
		}
	}
}
