package webhook

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
	"strings"
)

// The types of Receivers, as Flux names them.
const (
	generic     = "generic"
	genericHMAC = "generic-hmac"
	gitHub      = "github"
	gitLab      = "gitlab"
	bitbucket   = "bitbucket"
	harbor      = "harbor"
	dockerHub   = "dockerhub"
	quay        = "quay"
	nexus       = "nexus"
	acr         = "acr"
	cdEvents    = "cdevents"
	gcr         = "gcr"
	genericOIDC = "generic-oidc"
)

// ErrUnverified is returned for a request that does not show that its sender knows the secret.
var ErrUnverified = errors.New("the request's signature or token does not match")

// errUnsigned is the ErrUnverified of a request that shows no secret at all, as Gitea's with empty signatures.
var errUnsigned error = unsignedError{}

type unsignedError struct{}

// Error implements error.
func (unsignedError) Error() string {
	return "the request has no signature or token: give its webhook the secret"
}

// Is makes it an ErrUnverified.
func (unsignedError) Is(target error) bool { return target == ErrUnverified }

// Header holds the headers of a request; http.Header is one.
type Header interface {
	// Get returns the first value of a header; empty for none.
	Get(name string) string
}

// sender says how the webhooks of a type are verified and read.
type sender struct {
	hashes    []string // that a signature may be of, the header before "="; none for no signature
	signature []string // headers of the signature, the strongest first
	bare      bool     // the signature has no name of a hash before it
	token     string   // header of the token itself; empty for none
	event     string   // header of the event; empty for none
	object    bool     // the body must be a JSON object
	bearer    bool     // a token of OpenID Connect is verified, which Bearer returns
}

// senders are the types that are supported. Of those without signature and token the path alone is secret, as in Flux.
var senders = map[string]sender{
	generic:     {},
	genericHMAC: {signature: []string{"X-Signature"}, hashes: []string{"sha1", "sha256", "sha512"}},
	gitHub:      {signature: []string{"X-Hub-Signature-256", "X-Hub-Signature"}, hashes: []string{"sha1", "sha256", "sha512"}, event: "X-gitHub-Event"},
	gitLab:      {token: "X-Gitlab-Token", event: "X-Gitlab-Event"},
	bitbucket:   {signature: []string{"X-Hub-Signature"}, hashes: []string{"sha1", "sha256", "sha512"}, event: "X-Event-Key"},
	harbor:      {token: "Authorization"},
	dockerHub:   {object: true},
	quay:        {object: true},
	nexus:       {signature: []string{"X-nexus-Webhook-Signature"}, hashes: []string{"sha1"}, bare: true, object: true},
	acr:         {object: true},
	cdEvents:    {event: "Ce-Type", object: true},
	gcr:         {bearer: true, object: true},
	genericOIDC: {bearer: true},
}

// Supports reports whether webhooks of a type can be verified.
func Supports(kind string) bool {
	_, known := senders[kind]
	return known
}

// VerifySender reports by ErrUnverified that a request of a Receiver of that type does not come from who knows the token. It does not parse the body,
// but for a form of Gitea's, of which the signature is that of the payload in it.
// Senders with tokens of OpenID Connect are not verified here.
func VerifySender(kind, token string, header Header, body []byte) error {
	s, known := senders[kind]
	switch {
	case !known || token == "" || s.bearer:
		return ErrUnverified
	case s.token != "" && header.Get(s.token) == "":
		return errUnsigned
	case s.token != "":
		return equalSecret(header.Get(s.token), token)
	case len(s.signature) == 0:
		return nil
	case kind == gitHub:
		body = signedByGitea(header, body)
	}
	for _, name := range s.signature {
		if text := header.Get(name); text != "" {
			return s.verifySignature(text, token, body)
		}
	}
	return errUnsigned
}

// signedByGitea is the part of a body that Gitea, or Forgejo, signs: GitHub signs a form as it is sent, and they sign the payload in it.
func signedByGitea(header Header, body []byte) []byte {
	if header.Get("X-Gitea-Event") == "" || !holdsForm(header) {
		return body
	}
	if payload, err := payloadInForm(body); err == nil {
		return payload
	}
	return body
}

// equalSecret takes the same time wherever two texts differ, and whatever their lengths.
func equalSecret(have, want string) error {
	a, b := sha256.Sum256([]byte(have)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return ErrUnverified
	}
	return nil
}

func (s sender) verifySignature(text, token string, body []byte) error {
	name, sum, named := strings.Cut(text, "=")
	if s.bare {
		name, sum, named = s.hashes[0], text, true
	}
	if named && sum == "" {
		return errUnsigned
	}
	if !named || !slices.Contains(s.hashes, name) {
		return ErrUnverified
	}
	return verifyHMAC(name, sum, token, body)
}

var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

func verifyHMAC(name, sum, token string, body []byte) error {
	have, err := hex.DecodeString(strings.TrimSpace(sum))
	if err != nil {
		return ErrUnverified
	}
	mac := hmac.New(hashes[name], []byte(token))
	mac.Write(body)
	if !hmac.Equal(have, mac.Sum(nil)) {
		return ErrUnverified
	}
	return nil
}

// EventOf returns the name of the event that a request is about; empty for senders that do not say.
func EventOf(kind string, header Header) string {
	if s := senders[kind]; s.event != "" {
		return header.Get(s.event)
	}
	return ""
}

// Takes reports whether a Receiver takes an event. Senders that name no events are not filtered, as in Flux.
func (r Receiver) Takes(event string) bool {
	if len(r.Events) == 0 || senders[r.Type].event == "" {
		return true
	}
	return slices.ContainsFunc(r.Events, func(e string) bool { return strings.EqualFold(e, event) })
}
