package chart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// explain makes a source.Error. What is wrong with an archive is a failure of the chart.
func explain(bounded, ctx context.Context, spec source.Spec, err error) error {
	a := spec.Auth
	secrets := redact.KnownOf(append(a.Credentials(), a.SecretUser())...)
	as := source.Error{Op: "fetch", Subject: subjectOf(spec), Reason: source.RepositoryFailed, Err: err}
	if spec.Chart.Name != "" {
		as.Reason = source.ChartPull
	}
	var answer *answerError
	as.Rejected = errors.As(err, &answer) && answer.status == http.StatusUnauthorized && answer.presented
	var list *tree.Error
	if errors.As(err, &list) && list.Reason == source.LayerFailed {
		as.Err = &tree.Error{Reason: as.Reason, Err: err}
	}
	return transport.Explain(bounded, ctx, as, plainWords(err, spec), secrets)
}

// subjectOf is the repository, without what in its address may be a permission.
func subjectOf(spec source.Spec) string {
	at := "Helm repository"
	if u, err := url.Parse(spec.URL); err == nil && u.Host != "" {
		at = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if spec.Chart.Name != "" {
		return fmt.Sprintf("chart %.200q of %s", spec.Chart.Name, at)
	}
	return at
}

// plainWords says what an answer means, without addresses, which may hold anything.
func plainWords(err error, spec source.Spec) string {
	var refused *answerError
	var at *url.Error
	switch {
	case errors.As(err, &refused):
		return beforeCause(err, refused) + answerWords(refused, spec)
	case errors.As(err, &at):
		return beforeCause(err, at) + transport.DescribeNetworkError(at.Err, "name it with http://")
	}
	return err.Error()
}

// beforeCause is what an error says before its cause.
func beforeCause(err, cause error) string {
	text, inner := err.Error(), cause.Error()
	if i := len(text) - len(inner); i > 0 && text[i:] == inner {
		return text[:i]
	}
	return ""
}

func answerWords(refused *answerError, spec source.Spec) string {
	text := refused.Error()
	switch {
	case refused.status == http.StatusNotFound && spec.Chart.Name == "":
		return text + ": there is no index.yaml below the URL"
	case refused.status != http.StatusUnauthorized && refused.status != http.StatusForbidden:
	case refused.foreign && spec.Chart.Elsewhere:
		text += "; it is not a server that the index names, so that no credentials are sent to it"
	case refused.foreign:
		text += "; it is not the server of the repository, so that credentials are sent to it only where spec.passCredentials is true"
	case !refused.presented:
		text += ", and no credentials for it are given"
	case spec.Auth.Secret != "":
		text += " to the credentials of Secret " + spec.Auth.Secret
	default:
		text += " to the credentials that are given"
	}
	return text
}
