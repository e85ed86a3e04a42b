package webhooks

import (
	"context"
	"errors"
	"net/http"

	"github.com/truce-gitops/truce/internal/source/oidc"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// verify returns the claims of a request's sender, where a token has some, or what is answered to a sender that is not verified.
func (h *Hooks) verify(ctx context.Context, e *entry, header http.Header, body []byte) (map[string]any, answer) {
	r := e.receiver
	var claims map[string]any
	err := error(nil)
	if webhook.IsBearer(r.Type) {
		claims, err = h.verifyToken(ctx, e, webhook.TokenOf(header))
	} else {
		err = webhook.VerifySender(r.Type, e.secret.Token, header, body)
	}
	switch {
	case err == nil:
		return claims, answer{}
	case errors.Is(err, webhook.ErrUnverified), errors.Is(err, oidc.ErrRefused), errors.Is(err, webhook.ErrNotAllowed):
		h.Log.Warn("webhook refused", "receiver", r.Key.String(), "error", err.Error())
		return nil, answer{http.StatusBadRequest, err.Error()} // as Flux answers: senders know of no other
	}
	h.Log.Warn("webhook", "receiver", r.Key.String(), "error", err.Error())
	return nil, answer{http.StatusServiceUnavailable, "the keys of the token's issuer cannot be read now"}
}

// verifyToken returns the claims of a token of OpenID Connect by one of the Receiver's issuers.
func (h *Hooks) verifyToken(ctx context.Context, e *entry, token string) (map[string]any, error) {
	by, known := e.receiver.IssuerNamed(oidc.Issuer(token), e.secret)
	if !known {
		return nil, webhook.ErrUnverified
	}
	claims, err := h.tokens.Verify(ctx, token, by.URL, by.Audience)
	if err != nil {
		return nil, err
	}
	return claims, e.receiver.CheckClaims(claims, by, e.secret)
}
