package notation_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/truce-gitops/truce/internal/source/notation"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

var (
	forms  = []string{signtest.JWS, signtest.COSE}
	target = ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, Size: 7,
		Digest: digest.Digest("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
	}
	reference = "registry.example.com/team/web@" + target.Digest.String()
)

// policyOf has a statement of a level for identities.
func policyOf(t testing.TB, level, identities, certificates string) *notation.Policy {
	t.Helper()
	text := fmt.Sprintf(`{"version": "1.0", "trustPolicies": [{"name": "web", "registryScopes": ["registry.example.com/team/web"],
		"signatureVerification": {"level": %q}, "trustStores": ["ca:web"], "trustedIdentities": [%q]}]}`, level, identities)
	p, err := notation.NewPolicy(text, certificates, &http.Client{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tomorrow() time.Time { return time.Now().Add(12 * time.Hour) }

func verify(t testing.TB, p *notation.Policy, form string, envelope []byte) (string, error) {
	t.Helper()
	return p.Verify(t.Context(), target, reference, form, envelope)
}

func envelope(s signtest.Notary, form string) []byte {
	return s.Envelope(form, signtest.Target{Digest: target.Digest.String(), MediaType: target.MediaType, Size: int(target.Size)}, time.Time{})
}

func TestASignatureThatThePolicyAcceptsIsVerified(t *testing.T) {
	s := signtest.NewNotary(t, "ci", tomorrow())
	for _, form := range forms {
		for _, who := range []string{"*", "x509.subject: C=CH, ST=ZH, O=test, CN=ci"} {
			by, err := verify(t, policyOf(t, "strict", who, s.Root), form, envelope(s, form))
			if err != nil || by != `certificate "CN=ci,O=test,ST=ZH,C=CH"` {
				t.Errorf("%s, %s: %s, %v", form, who, by, err)
			}
		}
	}
}

func TestASignatureThatThePolicyDoesNotAcceptIsNone(t *testing.T) {
	s, stranger := signtest.NewNotary(t, "ci", tomorrow()), signtest.NewNotary(t, "ci", tomorrow())
	ended := signtest.NewNotary(t, "ci", time.Now().Add(-time.Hour))
	for _, form := range forms {
		of := func(digest, mediaType string, size int, until time.Time) []byte {

			return s.Envelope(form, signtest.Target{Digest: digest, MediaType: mediaType, Size: size}, until)

		}
		for what, c := range map[string]struct {
			envelope   []byte
			identities string
			want       string
		}{
			"another authority":   {envelope(stranger, form), "*", "does not contain any trusted certificate"},
			"another identity":    {envelope(s, form), "x509.subject: C=CH, ST=ZH, O=test, CN=other", "X.509 trusted identities"},
			"an expired one":      {of(target.Digest.String(), target.MediaType, 7, time.Now().Add(-time.Hour)), "*", "digital signature has expired"},
			"another artifact":    {of("sha256:"+strings.Repeat("1", 64), target.MediaType, 7, time.Time{}), "*", "descriptor mismatch"},
			"another size":        {of(target.Digest.String(), target.MediaType, 8, time.Time{}), "*", "descriptor mismatch"},
			"another type":        {of(target.Digest.String(), "text/plain", 7, time.Time{}), "*", "descriptor mismatch"},
			"no envelope":         {[]byte("{}"), "*", ""},
			"an ended one's":      {envelope(ended, form), "*", ""},
			"one that is changed": {append(envelope(s, form)[:100:100], 'x'), "*", ""},
		} {
			trusted := s.Root
			if what == "an ended one's" {
				trusted = ended.Root
			}
			by, err := verify(t, policyOf(t, "strict", c.identities, trusted), form, c.envelope)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %s, %v, want %q", form, what, by, err, c.want)
			}
		}
	}
}

// TestAPolicyMayAcceptWhatIsNotAuthentic has the level audit: what it accepts counts as not verified, as in Flux.
func TestAPolicyMayAcceptWhatIsNotAuthentic(t *testing.T) {
	s, stranger := signtest.NewNotary(t, "ci", tomorrow()), signtest.NewNotary(t, "ci", tomorrow())
	audit := policyOf(t, "audit", "*", s.Root)
	for _, form := range forms {
		if by, err := verify(t, audit, form, envelope(stranger, form)); err != nil || by != "" {
			t.Errorf("%s, a stranger: %s, %v", form, by, err)
		}
		if by, err := verify(t, audit, form, envelope(s, form)); err != nil || by == "" {
			t.Errorf("%s: %s, %v", form, by, err)
		}
	}
}

func TestWhatAPolicySaysOfARepository(t *testing.T) {
	s := signtest.NewNotary(t, "ci", tomorrow())
	for level, want := range map[string]bool{"skip": true, "audit": false, "permissive": false, "strict": false} {
		if got, err := policyOf(t, level, "*", s.Root).Skips(reference); err != nil || got != want {
			t.Errorf("%s: %t, %v", level, got, err)
		}
	}
	strict := policyOf(t, "strict", "*", s.Root)
	if _, err := strict.Skips("registry.example.com/team/other@" + target.Digest.String()); err == nil {
		t.Error("a statement of another repository applies")
	}
	for what, c := range map[string]struct{ policy, certificates, want string }{
		"no JSON":                 {"x", s.Root, "read trustpolicy.json"},
		"no statement":            {`{"version": "1.0"}`, s.Root, "read trustpolicy.json"},
		"no certificate":          {`{"version": "1.0"}`, "", "no certificate is in it"},
		"a malformed certificate": {`{"version": "1.0"}`, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "read certificate 1"},
	} {
		if _, err := notation.NewPolicy(c.policy, c.certificates, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	trusted, other := signtest.NewNotary(f, "ci", tomorrow()), signtest.NewNotary(f, "ci", tomorrow())
	policy := policyOf(f, "strict", "*", trusted.Root)
	for _, form := range forms {
		f.Add(envelope(other, form))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, form := range forms {
			if by, err := verify(t, policy, form, data); err == nil {
				t.Errorf("a forged %s is accepted with %s", form, by)
			} else if strings.Contains(err.Error(), "panic: ") {
				t.Errorf("%s panics: %v", form, err)
			}
		}
	})
}

func FuzzPolicy(f *testing.F) {
	root := signtest.NewNotary(f, "ci", tomorrow()).Root
	f.Add(`{"version": "1.0", "trustPolicies": [{"name": "a", "registryScopes": ["*"], "signatureVerification": {"level": "strict"}, "trustStores": ["ca:a"], "trustedIdentities": ["*"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := notation.NewPolicy(text, root, nil); err == nil {
			_, _ = p.Skips(reference) // must not panic
		}
	})
}
