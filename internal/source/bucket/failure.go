package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// objectError is a failure to read one object.
type objectError struct {
	key string
	err error
}

// Error names the object.
func (e *objectError) Error() string { return fmt.Sprintf("object %.200q: %s", e.key, e.err) }

// Unwrap gives the cause.
func (e *objectError) Unwrap() error { return e.err }

func aboutObject(key string, err error) error {
	if err == nil {
		return nil
	}
	return &objectError{key, err}
}

// explain makes a source.Error, in which the server's words are few and marked as such.
func explain(bounded, ctx context.Context, spec source.Spec, err error) error {
	a, user := spec.Auth, spec.Bucket.User
	secrets := redact.KnownOf(append(a.Credentials(), user.Credentials()...)...)
	as := source.Error{Op: "fetch", Subject: "bucket " + spec.Bucket.Name + " of " + spec.URL, Reason: source.BucketFailed, Err: err}
	return transport.Explain(bounded, ctx, as, plainWords(err, spec, secrets), secrets)
}

// plainWords says what an answer means, without addresses, which may hold anything.
func plainWords(err error, spec source.Spec, secrets redact.Known) string {
	var object *objectError
	var service *tokenError
	var refused *answerError
	var at *url.Error
	switch {
	case errors.As(err, &object):
		return fmt.Sprintf("object %.200q: %s", object.key, plainWords(object.err, spec, secrets))
	case errors.As(err, &service):
		spec.Auth.Secret = "spec.sts.secretRef"
		return "get credentials of the token service (spec.sts): " + plainWords(service.err, spec, secrets)
	case errors.As(err, &refused):
		return answerWords(refused, spec, secrets)
	case errors.As(err, &at):
		return transport.DescribeNetworkError(at.Err, "set spec.insecure to true")
	}
	return err.Error()
}

func answerWords(refused *answerError, spec source.Spec, secrets redact.Known) string {
	text := refused.Error()
	switch {
	case refused.code == "NoSuchBucket", refused.code == "ContainerNotFound":
		return fmt.Sprintf("bucket %q does not exist", spec.Bucket.Name)
	case refused.status/100 == 3:
		text += ": the endpoint is another one, or spec.region is wrong"
	case refused.status != http.StatusUnauthorized && refused.status != http.StatusForbidden:
	case !refused.signed:
		text += ", and no credentials for it are given"
	case spec.Auth.Cloud.Cloud != provider.NoCloud && spec.Bucket.Login == provider.NoLogin:
		text += " to the credentials of " + spec.Auth.Cloud.String()
	case spec.Auth.Secret != "":
		text += " to the credentials of Secret " + spec.Auth.Secret
	default:
		text += " to the credentials of spec.sts"
	}
	if refused.message != "" {
		text += fmt.Sprintf("; it says %q", secrets.Foreign(refused.message, transport.LongestSaying))
	}
	return text
}
