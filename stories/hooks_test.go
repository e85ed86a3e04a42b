package stories

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var receivers = schema.GroupVersionResource{Group: "notification.toolkit.fluxcd.io", Version: "v1", Resource: "receivers"}

// takesWebhooks starts a truce that takes webhooks, and returns their address.
func (w *world) takesWebhooks(o compose.RunOptions) string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	o.Webhooks = webhooks.Place{Listen: l.Addr().String()}
	w.run(o)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 2)
	go func() { done <- w.running.Hooks.Run(ctx) }()
	go func() { done <- w.running.Hooks.Serve(ctx, l) }()
	w.t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				w.t.Errorf("webhooks: %v", err)
			}
		}
	})
	url := "http://" + l.Addr().String()
	soon := time.NewTicker(20 * time.Millisecond)
	defer soon.Stop()
	for status, _ := w.webhook(url+"/hook/unknown", "", "", ""); status == http.StatusServiceUnavailable; status, _ = w.webhook(url+"/hook/unknown", "", "", "") {
		select {
		case <-soon.C:
		case <-w.ctx.Done():
			w.t.Fatal("the Receivers are not listed")
		}
	}
	return url
}

// webhook sends a request as GitHub does, and returns the answer's status and text. An empty key sends no signature.
func (w *world) webhook(url, event, key, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	}
	return w.answer(r)
}

// answer sends a request, and returns the answer's status and text.
func (w *world) answer(r *http.Request) (int, string) {
	w.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// receives creates a Receiver of GitHub's webhooks with its Secret, and further lines of its spec.
func (w *world) receives(name, token, spec string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: %[2]s}
stringData: {token: %[3]s}
---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  type: github
  secretRef: {name: %[1]s}
  %[4]s
`, name, w.ns, token, strings.ReplaceAll(spec, "\n", "\n  ")))
}

// hookPath waits until a Receiver has a path, and returns it.
func (w *world) hookPath(name string) string {
	w.t.Helper()
	path := ""
	w.await(w.Watch(w.t, receivers, w.ns, name), func(o *unstructured.Unstructured) bool {
		path, _, _ = unstructured.NestedString(o.Object, "status", "webhookPath")
		return path != ""
	})
	return path
}

// TestAPushIsAppliedAtOnce: the source looks once an hour, and only a webhook of who knows the token makes it look before.
func TestAPushIsAppliedAtOnce(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	url := w.takesWebhooks(compose.RunOptions{})
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.receives("push", "s3cret", "events: [ping, push]\nresources: [{kind: GitRepository, name: repo}]\nresourceFilter: req.ref == 'refs/heads/main'")
	w.receives("bad", "s3cret", "resources: [{kind: ImageRepository, name: repo}]")
	w.receives("some", "s3cret", "resources: [{kind: ImageRepository, name: repo}, {kind: GitRepository, name: repo}]")
	w.receives("gone", "s3cret", "resources: [{kind: GitRepository, name: gone}]")
	w.ready("app")
	hook := url + w.hookPath("push")
	if want := fmt.Sprintf("/hook/%x", sha256.Sum256([]byte("s3cretpush"+w.ns))); hook != url+want {
		t.Errorf("the path is %s, not Flux's %s", hook, want)
	}
	w.await(w.Watch(t, receivers, w.ns, "bad"), func(o *unstructured.Unstructured) bool {
		text := fmt.Sprint(entries(o, "status", "conditions"))
		return strings.Contains(text, "ValidationFailed") && strings.Contains(text, "none is of a kind that truce works on")
	})
	w.await(w.Watch(t, receivers, w.ns, "some"), func(o *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "; spec.resources[0] is left alone: ImageRepository is no kind that truce works on")
	})

	const main, other = `{"ref":"refs/heads/main"}`, `{"ref":"refs/heads/other"}`
	looks := server.Requests()
	for _, c := range []struct {
		url, event, key, body string
		status                int
		text                  string
	}{
		{url + "/hook/unknown", "push", "s3cret", main, 404, ""},
		{url + w.hookPath("gone"), "push", "s3cret", main, 500, "1 of the Receiver's resources are not there"},
		{hook, "push", "", main, 400, "has no signature"},
		{hook, "push", "guessed", main, 400, "does not match"},
		{hook, "issues", "s3cret", main, 200, "nothing was requested"},
		{hook, "push", "s3cret", other, 200, "requested: 0"},
		{hook, "push", "s3cret", `{"ref":`, 400, "not JSON"},
		{hook, "push", "s3cret", `[]`, 500, "cannot be evaluated"},
		{hook, "push", "s3cret", strings.Repeat(" ", 50<<20), 413, "1 MiB"},
	} {
		if status, text := w.webhook(c.url, c.event, c.key, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s with the key %q and %.30q: %d %s, want %d %s", c.event, c.key, c.body, status, text, c.status, c.text)
		}
	}

	// Both pushes cost the same: a look that a refused webhook began would be counted with the first.
	a := w.Watch(t, configmaps, w.ns, "a")
	var cost []int
	before := "a"
	for _, pushed := range []string{"pushed", "again"} {
		w.edit("app/a.yaml", `"k":"`+before+`"`, `"k":"`+pushed+`"`)
		before = pushed
		at := time.Now()
		if status, text := w.webhook(hook, "push", "s3cret", main); status != 200 || !strings.Contains(text, "requested: 1") {
			t.Fatalf("%d %s", status, text)
		}
		w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == pushed })
		t.Logf("from the webhook to the applied commit: %s", time.Since(at).Round(time.Millisecond))
		now := server.Requests()
		cost = append(cost, int(now-looks))
		looks = now
	}
	if cost[0] != cost[1] {
		t.Errorf("the two pushes cost %v requests: webhooks that were refused had the repository looked at", cost)
	}

	w.patch(receivers, "push", map[string]any{"spec": map[string]any{"suspend": true}}, "person")
	soon := time.NewTicker(50 * time.Millisecond)
	defer soon.Stop()
	for !strings.Contains(w.hookAnswer(hook, main), "503 the Receiver is suspended") {
		select {
		case <-soon.C:
		case <-w.ctx.Done():
			t.Fatal("a suspended Receiver takes webhooks")
		}
	}
}

func (w *world) hookAnswer(url, body string) string {
	status, text := w.webhook(url, "push", "s3cret", body)
	return fmt.Sprint(status, " ", text)
}

// TestASlowOrHugeWebhookTakesNothing: bodies that never come end by themselves, and meanwhile others are answered.
func TestASlowOrHugeWebhookTakesNothing(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	url := w.takesWebhooks(compose.RunOptions{})
	w.receives("push", "s3cret", `resources: [{kind: GitRepository, name: "*"}]`)
	hook := w.hookPath("push")
	var slow []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", hook)
		slow = append(slow, c)
	}
	if status, text := w.webhook(url+hook, "push", "s3cret", "{}"); status != 200 {
		t.Errorf("beside slow bodies: %d %s", status, text)
	}
	var answer bytes.Buffer
	_ = slow[0].SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(&answer, slow[0])
	if !strings.HasPrefix(answer.String(), "HTTP/1.1 408") {
		t.Errorf("a body that does not come is answered %q", answer.String())
	}
	limited := false
	for range 200 {
		status, _ := w.webhook(url+hook, "push", "s3cret", "{}")
		limited = limited || status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("200 webhooks at once are all taken")
	}
}

// TestArgoCDsWebhookFetchesWhatWasPushed: a GitRepository and an Application of the same repository, both with credentials.
func TestArgoCDsWebhookFetchesWhatWasPushed(t *testing.T) {
	w := offArgoWorld(t, configMaps("app", "a")+configMaps("other", "b"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: password})
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: %[1]s}
stringData: {webhook.github.secret: s3cret}
---
apiVersion: v1
kind: Secret
metadata: {name: repo, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {url: %[2]q, username: me, password: %[3]s}`, w.ns, server.URL, password))
	url := w.takesWebhooks(compose.RunOptions{}) + "/api/webhook"
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}\nsecretRef: {name: repo}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	w.Apply(t, replace(t, w.applicationText("web", "other", automated), "file://"+w.repo.Dir, server.URL))
	t.Cleanup(w.removeApps)
	w.ready("app")
	w.inSync("web")

	payload := func(ref, url string) string {
		return fmt.Sprintf(`{"ref":%q,"repository":{"clone_url":%q,"default_branch":"main"}}`, ref, url)
	}
	good := payload("refs/heads/main", strings.ToUpper(server.URL))
	for _, c := range []struct {
		key, body string
		status    int
		text      string
	}{
		{"", good, 401, "has no signature"},
		{"guessed", good, 401, "does not match"},
		{"s3cret", payload("refs/heads/main", "https://git.example.org/.*"), 200, "requested: 0"},
		{"s3cret", payload("refs/heads/other", server.URL), 200, "requested: 0"},
		{"s3cret", strings.Repeat(" ", 2<<20), 413, "1 MiB"},
	} {
		if status, text := w.webhook(url, "push", c.key, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("with the key %q and %.60q: %d %s, want %d %s", c.key, c.body, status, text, c.status, c.text)
		}
	}
	a, b := w.Watch(t, configmaps, w.ns, "a"), w.Watch(t, configmaps, w.ns, "b")
	w.edit("app/a.yaml", `"k":"a"`, `"k":"pushed"`)
	w.edit("other/b.yaml", `"k":"b"`, `"k":"pushed"`)
	if status, text := w.webhook(url, "push", "s3cret", good); status != 200 || !strings.Contains(text, "requested: 2") {
		t.Errorf("%d %s", status, text)
	}
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "pushed" })
	w.await(b, func(o *unstructured.Unstructured) bool { return value(o, "k") == "pushed" })
}

// TestArgoCDsWebhookSecretIsInAnotherSecret: argocd-secret refers to it, and the text of the reference signs nothing.
func TestArgoCDsWebhookSecretIsInAnotherSecret(t *testing.T) {
	w := offArgoWorld(t, configMaps("app", "a"))
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: %[1]s}
stringData: {webhook.github.secret: "$hooks:github", webhook.gogs.secret: "$bare:github"}
---
apiVersion: v1
kind: Secret
metadata: {name: hooks, namespace: %[1]s, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {github: s3cret}
---
apiVersion: v1
kind: Secret
metadata: {name: bare, namespace: %[1]s}
stringData: {github: s3cret}`, w.ns))
	url := w.takesWebhooks(compose.RunOptions{}) + "/api/webhook"
	w.app("app", "./app", defaultSpec)
	t.Cleanup(w.removeApps)
	w.ready("app")
	push := `{"ref":"refs/heads/main","repository":{"clone_url":"https://git.example.org/a","default_branch":"main"}}`
	for key, want := range map[string]int{"s3cret": 200, "$hooks:github": 401, "guessed": 401, "": 401} {
		if status, text := w.webhook(url, "push", key, push); status != want {
			t.Errorf("with the key %q: %d %s, want %d", key, status, text, want)
		}
	}
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, url, strings.NewReader(push))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"s3cret", "$bare:github"} { // the Secret has no label
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(push))
		r.Header.Set("X-Gogs-Event", "push")
		r.Header.Set("X-Gogs-Signature", hex.EncodeToString(m.Sum(nil)))
		r.Body = io.NopCloser(strings.NewReader(push))
		if status, text := w.answer(r); status != 401 {
			t.Errorf("of Gogs, with the key %q: %d %s, want 401", key, status, text)
		}
	}
}
