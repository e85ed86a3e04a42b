package webhook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/cel"
)

// Issuer is an issuer of tokens of OpenID Connect by which senders are verified, and what their claims must say.
type Issuer struct {
	URL, Audience string
	Variables     []Variable
	Validations   []Validation
}

// Variable is a value that is made of the claims, and of the variables before it.
type Variable struct {
	Name  string
	Value cel.Expression
}

// Validation is a condition on the claims.
type Validation struct {
	Holds   cel.Expression
	Message string // for a sender of whom it does not hold
}

// Secret is what the Secret of a Receiver says.
type Secret struct {
	Token           string // of which the path is made
	Email, Audience string // of a token of Google's, for the type gcr
}

// google is the issuer of the tokens of Pub/Sub (https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions).
const google = "https://accounts.google.com"

// SecretKeys returns the keys that the Secret of a Receiver of that type must have; none for a type without a Secret, where the token of the sender is in
// its place, as in Flux.
func SecretKeys(kind string) []string {
	switch kind {
	case genericOIDC:
		return nil
	case gcr:
		return []string{"token", "email", "audience"}
	}
	return []string{"token"}
}

// IsBearer reports whether the sender of that type is verified by a token of OpenID Connect.
func IsBearer(kind string) bool { return senders[kind].bearer }

// TokenOf returns the token of OpenID Connect that a request has; empty for none.
func TokenOf(header Header) string {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// IssuerNamed returns the one of the Receiver's issuers that a token names; false for another.
func (r Receiver) IssuerNamed(url string, s Secret) (Issuer, bool) {
	issuers := r.Issuers
	if r.Type == gcr {
		issuers = []Issuer{{URL: google, Audience: s.Audience}}
	}
	for _, i := range issuers {
		if i.URL == url {
			return i, true
		}
	}
	return Issuer{}, false
}

// ErrNotAllowed is returned for a sender who is known, and may not ask for anything.
var ErrNotAllowed = errors.New("the claims of the token are not those of a sender that is wanted")

// CheckClaims reports by ErrNotAllowed that the claims of a verified token are not what the Receiver wants.
func (r Receiver) CheckClaims(claims map[string]any, by Issuer, s Secret) error {
	if r.Type == gcr {
		if s.Email == "" || claims["email"] != s.Email || claims["email_verified"] != true {
			return fmt.Errorf("%w: email is not the one of the Receiver's Secret", ErrNotAllowed)
		}
		return nil
	}
	values := map[string]any{cel.Claims: claims, cel.Vars: map[string]any{}}
	vars := map[string]any{}
	for _, v := range by.Variables {
		value, err := v.Value.Value(values)
		if err != nil {
			return fmt.Errorf("%w: the variable %s has no value: %w", ErrNotAllowed, v.Name, err)
		}
		vars[v.Name] = value
		values[cel.Vars] = vars
	}
	var failed []string
	for _, v := range by.Validations {
		if holds, err := v.Holds.IsTrue(values); err != nil || !holds {
			failed = append(failed, v.Message)
		}
	}
	if len(failed) > 0 || len(by.Validations) == 0 {
		return fmt.Errorf("%w: %s", ErrNotAllowed, strings.Join(failed, "; "))
	}
	return nil
}
