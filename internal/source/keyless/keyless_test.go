package keyless_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// good is a signature of the identity that is trusted.
var good = signtest.Signature{Identity: "https://ci.example.com/web", Issuer: "https://login.example.com", Logged: time.Minute}

func signersOf(t testing.TB, s *signtest.Sigstore, all ...signing.Identity) *keyless.Signers {
	t.Helper()
	if all == nil {
		all = []signing.Identity{{Issuer: "^https://other$", Subject: ".*"}, {Issuer: `^https://login\.example\.com$`, Subject: "^https://ci.example.com/web"}}
	}
	out, err := keyless.NewSigners([]byte(s.Root()), all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// both verifies a payload and a bundle.
func both(t testing.TB, trusted *keyless.Signers, by *signtest.Sigstore, of signtest.Signature) (payload, bundle string, errs [2]error) {
	t.Helper()
	layer := by.PayloadLayer(ocitest.Payload(digest), of)
	payload, errs[0] = trusted.VerifyPayload(layer.Data, layer.Annotations, digest)
	bundle, errs[1] = trusted.VerifyBundle(by.Bundle(ocitest.Statement(digest, ocitest.SignPredicate), of), digest)
	return payload, bundle, errs
}

func TestASignatureOfATrustedIdentityIsVerified(t *testing.T) {
	s := signtest.NewSigstore(t)
	const want = `identity "https://ci.example.com/web" of issuer "https://login.example.com"`
	payload, bundle, errs := both(t, signersOf(t, s), s, good)
	if payload != want || bundle != want || errs != [2]error{} {
		t.Errorf("payload: %s, bundle: %s, %v", payload, bundle, errs)
	}
	anyone, err := keyless.NewSigners([]byte(s.Root()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if payload, bundle, errs := both(t, anyone, s, good); payload != want || bundle != want || errs != [2]error{} {
		t.Errorf("of everyone: payload: %s, bundle: %s, %v", payload, bundle, errs)
	}
}

func TestASignatureThatIsNotOfATrustedIdentityIsNone(t *testing.T) {
	s, another := signtest.NewSigstore(t), signtest.NewSigstore(t)
	identity, issuer, late, early, unlogged := good, good, good, good, good
	identity.Identity = "https://ci.example.com/other"
	issuer.Issuer = "https://login.example.com.evil"
	late.Logged, early.Logged, unlogged.Unlogged = time.Hour/2, -time.Minute, true
	for what, c := range map[string]struct {
		by   *signtest.Sigstore
		of   signtest.Signature
		want string
	}{
		"another identity":                         {s, identity, "another identity has signed it"},
		"another issuer":                           {s, issuer, "another identity has signed it"},
		"an expired certificate":                   {s, late, "integrated time outside certificate validity"},
		"a certificate that is not valid yet":      {s, early, "integrated time outside certificate validity"},
		"a certificate that was not logged":        {s, unlogged, "signed certificate timestamp"},
		"another authority, and logs that are its": {another, good, "not enough verified log entries"},
	} {
		payload, bundle, errs := both(t, signersOf(t, s), c.by, c.of)
		for i, form := range []string{"payload", "bundle"} {
			if errs[i] == nil || !strings.Contains(errs[i].Error(), c.want) {
				t.Errorf("%s, %s: %s%s: %v, want %q", form, what, payload, bundle, errs[i], c.want)
			}
		}
	}
}

func TestWhatIsNoSignatureOfTheArtifactIsNone(t *testing.T) {
	s := signtest.NewSigstore(t)
	trusted := signersOf(t, s)
	another := strings.Replace(digest, "0", "1", 1)
	for what, statement := range map[string][]byte{
		"another artifact": ocitest.Statement(another, ocitest.SignPredicate),
		"an attestation":   ocitest.Statement(digest, "https://spdx.dev/Document"),
		"no statement":     []byte(`{}`),
	} {
		if by, err := trusted.VerifyBundle(s.Bundle(statement, good), digest); err == nil {
			t.Errorf("bundle, %s: %s", what, by)
		}
	}
	for what, payload := range map[string][]byte{"another artifact": ocitest.Payload(another), "no payload": []byte(`{}`)} {
		layer := s.PayloadLayer(payload, good)
		if by, err := trusted.VerifyPayload(layer.Data, layer.Annotations, digest); err == nil {
			t.Errorf("payload, %s: %s", what, by)
		}
	}
	layer, other := s.PayloadLayer(ocitest.Payload(digest), good), s.PayloadLayer(ocitest.Payload(another), good)
	for _, name := range []string{"dev.cosignproject.cosign/signature", keyless.CertificateAnnotation, keyless.LogAnnotation} {
		changed := ocitest.Layer{Annotations: map[string]string{}}
		for k, v := range layer.Annotations {
			changed.Annotations[k] = v
		}
		for _, value := range []string{"", "x", other.Annotations[name]} {
			changed.Annotations[name] = value
			if by, err := trusted.VerifyPayload(layer.Data, changed.Annotations, digest); err == nil {
				t.Errorf("%s of another signature: %s", name, by)
			}
		}
	}
	text := s.Bundle(ocitest.Statement(digest, ocitest.SignPredicate), good)
	for what, change := range map[string]func(m map[string]any){
		"no certificate": func(m map[string]any) {
			m["verificationMaterial"] = map[string]any{"publicKey": map[string]any{"hint": "hint"}}
		},
		"no log":          func(m map[string]any) { delete(m["verificationMaterial"].(map[string]any), "tlogEntries") },
		"no envelope":     func(m map[string]any) { delete(m, "dsseEnvelope") },
		"another payload": func(m map[string]any) { m["dsseEnvelope"].(map[string]any)["payload"] = []byte("{}") },
	} {
		var b map[string]any
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatal(err)
		}
		change(b)
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if by, err := trusted.VerifyBundle(data, digest); err == nil {
			t.Errorf("bundle, %s: %s", what, by)
		}
	}
}

func TestARootOrAnIdentityThatCannotBeReadIsNamed(t *testing.T) {
	root := signtest.NewSigstore(t).Root()
	for what, c := range map[string]struct {
		root, want string
		identity   signing.Identity
	}{
		"a root":                     {"{}", "read the trusted root", signing.Identity{Issuer: "a", Subject: "b"}},
		"no JSON":                    {"root", "read the trusted root", signing.Identity{Issuer: "a", Subject: "b"}},
		"a pattern":                  {root, "read identity 1", signing.Identity{Issuer: "(", Subject: "a"}},
		"an identity without issuer": {root, "read identity 1", signing.Identity{Subject: "a"}},
	} {
		if _, err := keyless.NewSigners([]byte(c.root), []signing.Identity{c.identity}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	trusted, other := signtest.NewSigstore(f), signtest.NewSigstore(f)
	signers := signersOf(f, trusted)
	layer := other.PayloadLayer(ocitest.Payload(digest), good)
	f.Add(other.Bundle(ocitest.Statement(digest, ocitest.SignPredicate), good), "", "", "")
	f.Add(layer.Data, layer.Annotations["dev.cosignproject.cosign/signature"], layer.Annotations[keyless.CertificateAnnotation], layer.Annotations[keyless.LogAnnotation])
	f.Fuzz(func(t *testing.T, data []byte, signature, certificate, log string) {
		annotations := map[string]string{"dev.cosignproject.cosign/signature": signature, keyless.CertificateAnnotation: certificate, keyless.LogAnnotation: log}
		by, err := signers.VerifyPayload(data, annotations, digest)
		if err == nil {
			t.Errorf("a forged payload is verified with %s", by)
		}
		if by, err2 := signers.VerifyBundle(bytes.Clone(data), digest); err2 == nil {
			t.Errorf("a forged bundle is verified with %s", by)
		} else if strings.Contains(err.Error()+err2.Error(), "panic: ") {
			t.Errorf("it panics: %v %v", err, err2)
		}
	})
}
