package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// classify gives an error a reason, unless it has one.
func classify(reason source.Reason, err error) error {
	var known *transport.FetchError
	var list *tree.Error
	switch {
	case err == nil || errors.As(err, &known) || errors.As(err, &list):
		return err
	case egress.IsRefused(err):
		return &transport.FetchError{Reason: source.HostNotAllowed, Err: err}
	case errors.Is(err, errdef.ErrNotFound):
		return transport.Failed(reason, "the registry has no such artifact")
	}
	return &transport.FetchError{Reason: reason, Err: err}
}

// isPlain reports whether the server of an https request seems to speak plain HTTP.
func isPlain(err error) bool {
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) || errors.Is(err, syscall.ECONNREFUSED)
}

// isUnreachable reports whether no answer has come.
func isUnreachable(err error) bool {
	var at *url.Error
	return errors.As(err, &at)
}

// explain makes a source.Error, in which the server's words are few and marked as such.
func (s *Store) explain(bounded, ctx context.Context, spec source.Spec, err error) error {
	a := spec.Auth
	secrets := redact.KnownOf(append(a.Credentials(), a.SecretUser())...)
	as := source.Error{Op: "fetch", Subject: spec.URL, Reason: source.PullFailed, Err: err}
	var answer *errcode.ErrorResponse
	as.Rejected = errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized && isGiven(a)
	return transport.Explain(bounded, ctx, as, plainWords(err, spec, secrets), secrets)
}

// isRejected reports whether a registry has not let in the credentials of a request.
func isRejected(err error) bool {
	var answer *errcode.ErrorResponse
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}

// plainWords says what a registry's answer means. An address that it redirects to is left out: it may be a permission by itself.
func plainWords(err error, spec source.Spec, secrets redact.Known) string {
	var answer *errcode.ErrorResponse
	var at *url.Error
	var op *net.OpError
	var inner error
	cause := ""
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return "the registry wants credentials, and " + missingCredentials(spec)
	case errors.As(err, &answer):
		inner, cause = answer, answerWords(answer, spec, secrets)
	case errors.As(err, &at) && errors.Is(at.Err, http.ErrSchemeMismatch):
		inner, cause = at, "the registry speaks plain HTTP; set spec.insecure to true if that is meant"
	case errors.As(err, &at) && errors.As(at.Err, &op):
		inner, cause = at, op.Err.Error()
		if op.Addr != nil {
			cause = op.Op + " " + op.Addr.String() + ": " + cause
		}
	case errors.As(err, &at):
		inner, cause = at, at.Err.Error()
	default:
		return err.Error()
	}
	return beforeCause(err, inner) + cause
}

// beforeCause is what an error says before its cause.
func beforeCause(err, cause error) string {
	before, _, found := strings.Cut(err.Error(), cause.Error())
	if !found || strings.Contains(before, "://") {
		return ""
	}
	return before
}

// missingCredentials says which credentials there are not.
func missingCredentials(spec source.Spec) string {
	if spec.Auth.Secret != "" {
		return "Secret " + spec.Auth.Secret + " has no credentials for it"
	}
	return "no credentials for it are given"
}

// isGiven reports whether there are credentials.
func isGiven(a source.Auth) bool {
	return a.Username != "" || a.BearerToken != "" || a.RefreshToken != ""
}

func answerWords(answer *errcode.ErrorResponse, spec source.Spec, secrets redact.Known) string {
	text := fmt.Sprintf("the registry answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	switch given := isGiven(spec.Auth); {
	case answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden:
	case spec.Auth.Cloud.Cloud != provider.NoCloud:
		text += " to the credentials of " + spec.Auth.Cloud.String()
	case given && spec.Auth.Secret != "":
		text += " to the credentials of Secret " + spec.Auth.Secret
	case given:
		text += " to the credentials of the service account's image pull secrets"
	default:
		text += ", and " + missingCredentials(spec)
	}
	if len(answer.Errors) > 0 {
		text += fmt.Sprintf("; it says %q", secrets.Foreign(answer.Errors.Error(), transport.LongestSaying))
	}
	return text
}
