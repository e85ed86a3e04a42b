package oci_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

// ci is the identity that is trusted.
var ci = signtest.Signature{Identity: "https://ci.example.com/web", Issuer: "https://login.example.com", Logged: time.Minute}

// byIdentity asks for a tag that ci has signed.
func byIdentity(r *ocitest.Registry, trustedRoot string) source.Spec {
	spec := specOf(r, "v1")
	spec.Verify = source.Verification{
		By: signing.CosignIdentities, TrustedRoot: trustedRoot, Secret: "apps/root",
		Identities: signing.FormatIdentities([]signing.Identity{{Issuer: "^https://login.example.com$", Subject: "^https://ci.example.com/"}}),
	}
	return spec
}

func signPayload(r *ocitest.Registry, s *signtest.Sigstore, digest string, by signtest.Signature) {
	r.PushLayers("team/app", strings.Replace(digest, ":", "-", 1)+".sig", nil, s.PayloadLayer(ocitest.Payload(digest), by))
}

func signBundle(r *ocitest.Registry, s *signtest.Sigstore, digest string, by signtest.Signature) {
	r.Attach("team/app", digest, "application/vnd.dev.sigstore.bundle.v0.3+json", ocitest.BundleLayer(s.Bundle(ocitest.Statement(digest, ocitest.SignPredicate), by)))
}

func TestAnArtifactThatAnIdentityHasSignedIsFetched(t *testing.T) {
	for name, sign := range map[string]func(*ocitest.Registry, *signtest.Sigstore, string, signtest.Signature){"payload": signPayload, "bundle": signBundle} {
		r, s := ocitest.New(t), signtest.NewSigstore(t)
		digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
		sign(r, s, digest, ci)
		a := fetch(t, newStore(t), byIdentity(r, s.Root()))
		if want := "verified signature of digest " + digest + ` with identity "https://ci.example.com/web" of issuer "https://login.example.com"`; a.Verified != want {
			t.Errorf("%s: %q, want %q", name, a.Verified, want)
		}
	}
}

func TestAnArtifactThatAnotherIdentityHasSignedIsNotFetched(t *testing.T) {
	s, another := signtest.NewSigstore(t), signtest.NewSigstore(t)
	stranger, late := ci, ci
	stranger.Identity, late.Logged = "https://evil.example.com/web", time.Hour/2
	for name, c := range map[string]struct {
		sign func(*ocitest.Registry, string)
		want string
	}{
		"nothing":          {func(*ocitest.Registry, string) {}, "it has no signature of cosign"},
		"a stranger":       {func(r *ocitest.Registry, d string) { signBundle(r, s, d, stranger) }, "no signature of it is by a trusted identity: another identity has signed it"},
		"a stranger's, v2": {func(r *ocitest.Registry, d string) { signPayload(r, s, d, stranger) }, "another identity has signed it"},
		"a late one":       {func(r *ocitest.Registry, d string) { signBundle(r, s, d, late) }, "no signature of it is by a trusted identity"},
		"another instance": {func(r *ocitest.Registry, d string) { signBundle(r, another, d, ci) }, "no signature of it is by a trusted identity"},
		"a key":            {func(r *ocitest.Registry, d string) { r.SignBundle("team/app", d, ocitest.NewSigner(t)) }, "no signature of it is by a trusted identity"},
		"a key, v2":        {func(r *ocitest.Registry, d string) { r.SignTag("team/app", d, ocitest.NewSigner(t)) }, "it is signed without a certificate"},
		"another's bundle": {func(r *ocitest.Registry, d string) {
			r.Attach("team/app", d, "application/vnd.dev.sigstore.bundle.v0.3+json", ocitest.BundleLayer(s.Bundle(ocitest.Statement(ocitest.Digest(nil), ocitest.SignPredicate), ci)))
		}, "no signature of it is by a trusted identity"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			c.sign(r, r.Push("team/app", "v1", map[string]string{"a": "1"}, nil))
			if text := refused(t, newStore(t), byIdentity(r, s.Root()), source.VerificationError); !strings.Contains(text, c.want) {
				t.Errorf("the message is %q, want %q", text, c.want)
			}
		})
	}
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	if text := refused(t, newStore(t), byIdentity(r, "{}"), source.VerificationError); !strings.Contains(text, "Secret apps/root: read the trusted root") {
		t.Error(text)
	}
}

// TestTheTrustedRootIsThatOfThePublicInstance has a mirror of our own in the place of Sigstore's.
func TestTheTrustedRootIsThatOfThePublicInstance(t *testing.T) {
	s, r := signtest.NewSigstore(t), ocitest.New(t)
	signBundle(r, s, r.Push("team/app", "v1", map[string]string{"a": "1"}, nil), ci)
	down := signtest.NewTUF(t, s.Root(), time.Now().Add(time.Hour))
	down.Down.Store(true)
	store := newStore(t)
	store.Sigstore = keyless.Mirror{URL: down.URL, Root: down.Root}
	spec := byIdentity(r, "")
	for range 2 {
		text := refused(t, store, spec, source.VerificationError)
		if !strings.Contains(text, "fetch the trusted root of "+down.URL+" by TUF") || !strings.Contains(text, "spec.verify.trustedRootSecretRef") {
			t.Error(text)
		}
	}
	asked := down.Asked.Load()
	refused(t, store, spec, source.VerificationError)
	if now := down.Asked.Load(); now != asked || asked == 0 {
		t.Errorf("a server that does not answer was asked %d times, and %d times more at once", asked, now-asked)
	}

	tuf := signtest.NewTUF(t, s.Root(), time.Now().Add(time.Hour))
	store = newStore(t)
	store.Sigstore = keyless.Mirror{URL: tuf.URL, Root: tuf.Root}
	fetch(t, store, spec)
	asked = tuf.Asked.Load()
	signBundle(r, s, r.Push("team/app", "v1", map[string]string{"a": "2"}, nil), ci)
	if a := fetch(t, store, spec); a.Verified == "" || tuf.Asked.Load() != asked {
		t.Errorf("%q; the root was fetched again: %d requests, then %d", a.Verified, asked, tuf.Asked.Load())
	}
}

// byPolicy asks for a tag that a trust policy of a level accepts.
func byPolicy(r *ocitest.Registry, level string, by signtest.Notary) source.Spec {
	spec := specOf(r, "v1")
	spec.Verify = source.Verification{By: signing.Notation, Certificates: by.Root, Secret: "apps/policy", Policy: fmt.Sprintf(
		`{"version": "1.0", "trustPolicies": [{"name": "app", "registryScopes": [%q], "signatureVerification": {"level": %q}, "trustStores": ["ca:app"], "trustedIdentities": ["*"]}]}`,
		r.Host+"/team/app", level)}
	return spec
}

func TestAnArtifactThatNotationHasSignedIsFetched(t *testing.T) {
	signer := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	stranger := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	for _, form := range []string{signtest.JWS, signtest.COSE} {
		for _, by := range []ocitest.ReferrersBy{ocitest.API, ocitest.Tag} {
			r := ocitest.New(t)
			r.KeepReferrers(by)
			digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
			stranger.Sign(r, "team/app", digest, form)
			signer.Sign(r, "team/app", digest, form)
			s, spec := newStore(t), byPolicy(r, "strict", signer)
			if a := fetch(t, s, spec); !strings.HasPrefix(a.Verified, "verified signature of digest "+digest+` with certificate "CN=ci`) {
				t.Errorf("%s: %q", form, a.Verified)
			}
			r.Requests()
			fetch(t, s, spec)
			if got := r.Requests(); !slices.Equal(got, []string{"HEAD /v2/team/app/manifests/v1"}) {
				t.Errorf("a poll without news: %v", got)
			}
		}
	}
}

func TestAnArtifactThatAPolicyDoesNotAcceptIsNotFetched(t *testing.T) {
	signer := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	stranger := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	for _, form := range []string{signtest.JWS, signtest.COSE} {
		for name, c := range map[string]struct {
			sign func(*ocitest.Registry, string)
			want string
		}{
			"nothing":    {func(*ocitest.Registry, string) {}, "it has no signature of notation"},
			"a stranger": {func(r *ocitest.Registry, d string) { stranger.Sign(r, "team/app", d, form) }, "the trust policy of Secret apps/policy accepts no signature of it"},
			"another artifact's": {func(r *ocitest.Registry, d string) {
				other := r.Push("team/app", "other", map[string]string{"a": "2"}, nil)
				signtest.Attach(r, "team/app", d, ocitest.Layer{MediaType: form, Data: signer.Envelope(form, signtest.Target{Digest: other, MediaType: "application/vnd.oci.image.manifest.v1+json", Size: 9}, time.Time{})})
			}, "mismatch"},
			"an expired one": {func(r *ocitest.Registry, d string) {
				signtest.Attach(r, "team/app", d, ocitest.Layer{MediaType: form, Data: signer.Envelope(form, signtest.TargetOf(r, d), time.Now().Add(-time.Hour))})
			}, "digital signature has expired"},
			"cosign's": {func(r *ocitest.Registry, d string) { r.SignBundle("team/app", d, ocitest.NewSigner(t)) }, "it has no signature of notation"},
		} {
			r := ocitest.New(t)
			c.sign(r, r.Push("team/app", "v1", map[string]string{"a": "1"}, nil))
			if text := refused(t, newStore(t), byPolicy(r, "strict", signer), source.VerificationError); !strings.Contains(text, c.want) {
				t.Errorf("%s, %s: the message is %q, want %q", form, name, text, c.want)
			}
		}
	}
}

// TestAPolicyMaySkipAnArtifact is as in Flux: it is fetched, and counts as not verified.
func TestAPolicyMaySkipAnArtifact(t *testing.T) {
	signer := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	if a := fetch(t, newStore(t), byPolicy(r, "skip", signer)); a.Verified != "" {
		t.Errorf("%q", a.Verified)
	}
	other := byPolicy(r, "strict", signer)
	other.Verify.Policy = strings.Replace(other.Verify.Policy, "/team/app", "/team/other", 1)
	if text := refused(t, newStore(t), other, source.VerificationError); !strings.Contains(text, "no applicable") {
		t.Error(text)
	}
}
