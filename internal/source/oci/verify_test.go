package oci_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// trusting asks for a tag that one of the keys has signed.
func trusting(r *ocitest.Registry, all ...ocitest.Signer) source.Spec {
	spec := specOf(r, "v1")
	spec.Verify.By, spec.Verify.Secret = signing.CosignKeys, "apps/keys"
	for _, s := range all {
		spec.Verify.Cosign += s.Public
	}
	return spec
}

func TestASignedArtifactIsFetched(t *testing.T) {
	other, signer := ocitest.NewSigner(t), ocitest.NewSigner(t)
	for name, sign := range map[string]func(*ocitest.Registry, string){
		"tag":      func(r *ocitest.Registry, d string) { r.SignTag("team/app", d, signer) },
		"referrer": func(r *ocitest.Registry, d string) { r.SignReference("team/app", d, signer) },
		"bundle":   func(r *ocitest.Registry, d string) { r.SignBundle("team/app", d, signer) },
		"older":    func(r *ocitest.Registry, d string) { r.KeepReferrers(ocitest.Tag); r.SignBundle("team/app", d, signer) },
		"older, without a type": func(r *ocitest.Registry, d string) {
			r.KeepReferrers(ocitest.Tag)
			r.Attach("team/app", d, "", ocitest.BundleLayer(signer.Bundle(ocitest.Statement(d, ocitest.SignPredicate))))
		},
		"after another": func(r *ocitest.Registry, d string) {
			r.SignTag("team/app", d, ocitest.NewSigner(t))
			r.SignBundle("team/app", d, signer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
			sign(r, digest)
			s, spec := newStore(t), trusting(r, other, signer)
			if a := fetch(t, s, spec); !strings.HasPrefix(a.Verified, "verified signature of digest "+digest+" with key SHA256:") {
				t.Errorf("%q", a.Verified)
			}
			r.Requests()
			fetch(t, s, spec)
			if got := r.Requests(); !slices.Equal(got, []string{"HEAD /v2/team/app/manifests/v1"}) {
				t.Errorf("a poll without news: %v", got)
			}
		})
	}
}

// TestAnArtifactThatIsNotSignedIsNotFetched has each form, of another key, of another artifact, or damaged.
func TestAnArtifactThatIsNotSignedIsNotFetched(t *testing.T) {
	signer, stranger := ocitest.NewSigner(t), ocitest.NewSigner(t)
	for name, c := range map[string]struct {
		sign func(*ocitest.Registry, string)
		want string
	}{
		"nothing":         {func(*ocitest.Registry, string) {}, "it has no signature of cosign"},
		"a stranger":      {func(r *ocitest.Registry, d string) { r.SignTag("team/app", d, stranger) }, "no signature of it is verified with the keys of Secret apps/keys"},
		"a stranger, 1.1": {func(r *ocitest.Registry, d string) { r.SignReference("team/app", d, stranger) }, "none of the trusted keys"},
		"a stranger, v3":  {func(r *ocitest.Registry, d string) { r.SignBundle("team/app", d, stranger) }, "none of the trusted keys"},
		"another's payload": {func(r *ocitest.Registry, d string) {
			r.PushLayers("team/app", strings.Replace(d, ":", "-", 1)+".sig", nil, signer.SignatureLayer(ocitest.Payload(ocitest.Digest(nil))))
		}, "what was signed is another artifact"},
		"another's bundle": {func(r *ocitest.Registry, d string) {
			r.Attach("team/app", d, "application/vnd.dev.sigstore.bundle.v0.3+json", ocitest.BundleLayer(signer.Bundle(ocitest.Statement(ocitest.Digest(nil), ocitest.SignPredicate))))
		}, "what was signed is another artifact"},
		"an attestation": {func(r *ocitest.Registry, d string) {
			r.Attach("team/app", d, "application/vnd.dev.sigstore.bundle.v0.3+json", ocitest.BundleLayer(signer.Bundle(ocitest.Statement(d, "https://spdx.dev/Document"))))
		}, "is no signature of an artifact"},
		"another repository": {func(r *ocitest.Registry, d string) { r.SignBundle("team/other", d, signer) }, "it has no signature of cosign"},
		"another type": {func(r *ocitest.Registry, d string) {
			r.Attach("team/app", d, "application/spdx+json", ocitest.BundleLayer(nil))
		}, "it has no signature of cosign"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			c.sign(r, r.Push("team/app", "v1", map[string]string{"a": "1"}, nil))
			if text := refused(t, newStore(t), trusting(r, signer), source.VerificationError); !strings.Contains(text, c.want) {
				t.Errorf("the message is %q, want %q", text, c.want)
			}
			if got := r.Requests(); slices.ContainsFunc(got, func(s string) bool { return s == "GET /v2/team/app/manifests/v1" }) {
				t.Errorf("it was fetched: %v", got)
			}
		})
	}
}

func TestManySignaturesEndTheSearch(t *testing.T) {
	signer := ocitest.NewSigner(t)
	r := ocitest.New(t)
	digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	layers := make([]ocitest.Layer, 101)
	for i := range layers {
		layers[i] = ocitest.NewSigner(t).SignatureLayer(ocitest.Payload(digest))
	}
	r.PushLayers("team/app", strings.Replace(digest, ":", "-", 1)+".sig", nil, layers...)
	refused(t, newStore(t), trusting(r, signer), source.LimitExceeded)
}

func TestAKeyThatCannotBeReadIsNamed(t *testing.T) {
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	spec := trusting(r)
	spec.Verify.Cosign = "no key"
	if text := refused(t, newStore(t), spec, source.VerificationError); !strings.Contains(text, "Secret apps/keys: no key is in it") {
		t.Error(text)
	}
}
