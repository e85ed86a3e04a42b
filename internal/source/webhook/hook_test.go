package webhook

import (
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
)

const token = "canary-5b1d"

func mac(name, key, body string) string {
	m := hmac.New(hashes[name], []byte(key))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

// TestWhoDoesNotKnowTheTokenIsRefused has, for each type, a request that shows the token, and others that do not.
func TestWhoDoesNotKnowTheTokenIsRefused(t *testing.T) {
	const body = `{"ref":"refs/heads/main"}`
	for kind, c := range map[string]struct{ header, good string }{
		genericHMAC: {"X-Signature", "sha512=" + mac("sha512", token, body)},
		gitHub:      {"X-Hub-Signature-256", "sha256=" + mac("sha256", token, body)},
		gitLab:      {"X-Gitlab-Token", token},
		bitbucket:   {"X-Hub-Signature", "sha256=" + mac("sha256", token, body)},
		harbor:      {"Authorization", token},
		nexus:       {"X-nexus-Webhook-Signature", mac("sha1", token, body)},
	} {
		verify := func(token, value, body string) error {
			h := http.Header{}
			if value != "" {
				h.Set(c.header, value)
			}
			return VerifySender(kind, token, h, []byte(body))
		}
		if err := verify(token, c.good, body); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		signed := senders[kind].token == ""
		for why, err := range map[string]error{
			"no header": verify(token, "", body), "another token": verify("other", c.good, body), "no token": verify("", c.good, body),
			"cut": verify(token, c.good[:len(c.good)-1], body), "longer": verify(token, c.good+"00", body), "not hex": verify(token, "sha256=zz", body),
			"an unknown hash": verify(token, "md5="+mac("sha256", token, body), body), "another case": verify(token, strings.ToUpper(c.good), body),
		} {
			if err == nil && (why != "another case" || !senders[kind].bare) {
				t.Errorf("%s: taken with %s", kind, why)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Errorf("%s: the error has the token: %v", kind, err)
			}
		}
		if err := verify(token, c.good, body+" "); (err != nil) != signed {
			t.Errorf("%s: with another body: %v", kind, err)
		}
	}
	if err := VerifySender("unheard-of", token, http.Header{}, nil); err == nil {
		t.Error("an unknown type is taken")
	}
	weak := http.Header{"X-Hub-Signature": {"sha1=" + mac("sha1", token, body)}, "X-Hub-Signature-256": {"sha256=00"}}
	if err := VerifySender(gitHub, token, weak, []byte(body)); err == nil {
		t.Error("a wrong strong signature is taken for the weak one beside it")
	}
}

// TestAFormOfGiteaIsSignedByItsPayload: as Gitea 1.26 signs it, and not as GitHub does. One with an empty signature is said to have none.
func TestAFormOfGiteaIsSignedByItsPayload(t *testing.T) {
	const payload = `{"ref":"refs/heads/main"}`
	body := []byte("payload=" + url.QueryEscape(payload))
	request := func(sum string) http.Header {
		h := http.Header{}
		for name, value := range map[string]string{"Content-Type": "application/x-www-form-urlencoded", "X-Gitea-Event": "push", "X-Gitea-Signature": sum, "X-Hub-Signature-256": "sha256=" + sum} {
			h.Set(name, value)
		}
		return h
	}
	secrets := map[string]string{"webhook.gogs.secret": token}
	for sum, want := range map[string]string{
		mac("sha256", token, payload): "", "": "no signature", mac("sha256", "other", payload): "does not match", mac("sha256", token, payload+" "): "does not match",
	} {
		_, pushed := ReadPush(request(sum), body, secrets)
		for _, err := range []error{VerifySender(gitHub, token, request(sum), body), pushed} {
			if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), want)) {
				t.Errorf("with the signature %q: %v, want %q", sum, err, want)
			}
		}
	}
}

func TestEventsAreTakenThatAreListed(t *testing.T) {
	push := http.Header{"X-Github-Event": {"push"}}
	for _, c := range []struct {
		kind   string
		events []string
		want   bool
	}{
		{gitHub, nil, true},
		{gitHub, []string{"ping", "Push"}, true},
		{gitHub, []string{"ping"}, false},
		{generic, []string{"ping"}, true}, // it names no events
	} {
		if got := (Receiver{Type: c.kind, Events: c.events}).Takes(EventOf(c.kind, push)); got != c.want {
			t.Errorf("%s with %v: %v", c.kind, c.events, got)
		}
	}
}

func TestABodyIsReadAsItsSenderWritesIt(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for _, c := range []struct {
		kind, body string
		header     http.Header
		fails      bool
	}{
		{gitHub, `{"a":1}`, nil, false},
		{gitHub, `payload=%7B%22a%22%3A1%7D`, form, false},
		{gitHub, `payload=%7B`, form, true},
		{generic, ``, nil, false},
		{dockerHub, ``, nil, true},
		{quay, `[]`, nil, true},
		{acr, `{"a":`, nil, true},
		{cdEvents, strings.Repeat("[", 20000), nil, true},
	} {
		got, err := Payload(c.kind, c.header, []byte(c.body))
		if (err != nil) != c.fails {
			t.Errorf("%s %.20q: %v, %v", c.kind, c.body, got, err)
		}
		if m, _ := got.(map[string]any); c.kind == gitHub && err == nil && m["a"] != 1.0 {
			t.Errorf("%s: %v", c.body, got)
		}
	}
}

func TestResourcesAreNamedOrSelected(t *testing.T) {
	cr := object.Object{"metadata": map[string]any{"name": "web", "labels": map[string]any{"team": "shop"}}}
	for _, c := range []struct {
		r    Resource
		want bool
	}{
		{Resource{Name: "web"}, true},
		{Resource{Name: "other"}, false},
		{Resource{Name: "*"}, true},
		{Resource{Name: "*", Labels: map[string]string{"team": "shop"}}, true},
		{Resource{Name: "*", Labels: map[string]string{"team": "shop", "env": ""}}, false},
	} {
		if got := c.r.Matches(cr); got != c.want {
			t.Errorf("%v: %v", c.r, got)
		}
	}
}

// FuzzWebhook: no request makes it panic, and none without the token is taken where the token shows.
func FuzzWebhook(f *testing.F) {
	for kind := range senders {
		f.Add(kind, "sha256=00", `{"a":1}`, "application/json")
		f.Add(kind, "", `payload=%7B%7D`, "application/x-www-form-urlencoded")
	}
	filter, err := cel.CompileFilter(`req.a == 1 && res.metadata.name == "web"`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind, value, body, form string) {
		h := http.Header{"Content-Type": {form}}
		for _, name := range append([]string{senders[kind].token}, senders[kind].signature...) {
			h.Set(name, value)
		}
		err := VerifySender(kind, token+"-of-none", h, []byte(body))
		if s := senders[kind]; err == nil && (s.bearer || s.token != "" || len(s.signature) > 0) {
			t.Errorf("%s: taken with %q", kind, value)
		}
		payload, err := Payload(kind, h, []byte(body))
		if err == nil {
			_, _ = filter.IsTrue(map[string]any{cel.Resource: map[string]any{}, cel.Body: payload})
		}
	})
}
