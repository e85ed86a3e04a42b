package webhook

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/cel"
)

func compiled(t *testing.T, read func(string) (cel.Expression, error), text string) cel.Expression {
	t.Helper()
	e, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestClaimsSayWhoMayAsk(t *testing.T) {
	by := Issuer{
		Variables: []Variable{
			{"repository", compiled(t, cel.CompileVariable, "claims.repository")},
			{"owner", compiled(t, cel.CompileVariable, "vars.repository.split('/')[0]")},
		},
		Validations: []Validation{
			{compiled(t, cel.CompileClaim, "vars.owner == 'org'"), "not of org"},
			{compiled(t, cel.CompileClaim, "claims.ref == 'refs/heads/main'"), "not main"},
		},
	}
	google := Secret{Token: token, Email: "push@acme.iam.gserviceaccount.com", Audience: "truce"}
	for name, c := range map[string]struct {
		kind   string
		claims map[string]any
		want   string // empty for taken
	}{
		"good":               {genericOIDC, map[string]any{"repository": "org/app", "ref": "refs/heads/main"}, ""},
		"two faults":         {genericOIDC, map[string]any{"repository": "other/app", "ref": "refs/heads/x"}, "not of org; not main"},
		"a claim is missing": {genericOIDC, map[string]any{"repository": "org/app"}, "not main"},
		"a variable":         {genericOIDC, map[string]any{"ref": "refs/heads/main"}, "the variable repository has no value"},
		"google":             {gcr, map[string]any{"email": google.Email, "email_verified": true}, ""},
		"another account":    {gcr, map[string]any{"email": "root@evil.iam.gserviceaccount.com", "email_verified": true}, "email is not the one"},
		"unverified":         {gcr, map[string]any{"email": google.Email, "email_verified": false}, "email is not the one"},
		"verified as text":   {gcr, map[string]any{"email": google.Email, "email_verified": "true"}, "email is not the one"},
		"no email":           {gcr, map[string]any{"email_verified": true}, "email is not the one"},
	} {
		err := Receiver{Type: c.kind}.CheckClaims(c.claims, by, google)
		switch {
		case c.want == "" && err != nil, c.want != "" && !errors.Is(err, ErrNotAllowed):
			t.Errorf("%s: %v", name, err)
		case err != nil && !strings.Contains(err.Error(), c.want), err != nil && strings.Contains(err.Error(), google.Email):
			t.Errorf("%s: %v, want %q and no email", name, err, c.want)
		}
	}
	if err := (Receiver{Type: genericOIDC}).CheckClaims(map[string]any{}, Issuer{}, Secret{}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("without validations: %v", err)
	}
}

func TestATokenIsOfAnIssuerThatIsNamed(t *testing.T) {
	named := Receiver{Type: genericOIDC, Issuers: []Issuer{{URL: "https://a.example", Audience: "x"}}}
	for _, c := range []struct {
		r        Receiver
		url      string
		audience string
		is       bool
	}{
		{named, "https://a.example", "x", true},
		{named, "https://a.example/", "", false},
		{named, "", "", false},
		{named, "https://accounts.google.com", "", false},
		{Receiver{Type: gcr}, "https://accounts.google.com", "truce", true},
		{Receiver{Type: gcr}, "https://a.example", "", false},
		{Receiver{Type: gitHub}, "", "", false},
	} {
		if got, is := c.r.IssuerNamed(c.url, Secret{Audience: "truce"}); is != c.is || got.Audience != c.audience {
			t.Errorf("%s %q: %v, %v", c.r.Type, c.url, got, is)
		}
	}
	for _, kind := range []string{gcr, genericOIDC} {
		if err := VerifySender(kind, token, http.Header{}, nil); err == nil {
			t.Errorf("%s: taken without a token", kind)
		}
	}
	for text, want := range map[string]string{"Bearer abc": "abc", "bearer  abc": "abc", "Basic abc": "", "abc": "", "": ""} {
		if got := TokenOf(http.Header{"Authorization": {text}}); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
