package chart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// answerError is what a server has answered instead of a file.
type answerError struct {
	status    int
	presented bool // with credentials
	foreign   bool // the server is one that no credentials are for
}

// Error is the status.
func (e *answerError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
}

const mostRedirects = 5

// get reads a file. Its answer has the status 200, or 304 where the header asks for that. Credentials go to the repository's own server.
func (r *repository) get(ctx context.Context, at *url.URL, header http.Header) (*http.Response, error) {
	return r.follow(ctx, at, header, false)
}

// getElsewhere is get with credentials for the server of the address, too: one that the index names. Where it redirects to another one, they stay.
func (r *repository) getElsewhere(ctx context.Context, at *url.URL) (*http.Response, error) {
	return r.follow(ctx, at, nil, true)
}

func (r *repository) follow(ctx context.Context, at *url.URL, header http.Header, elsewhere bool) (*http.Response, error) {
	first := at
	for range mostRedirects {
		presents := r.isOwn(at) || elsewhere && isSameServer(at, first)
		answer, err := r.send(ctx, at, header, presents)
		if err != nil {
			return nil, err
		}
		switch answer.StatusCode {
		case http.StatusOK:
			return answer, nil
		case http.StatusNotModified:
			if header.Get("If-None-Match") != "" || header.Get("If-Modified-Since") != "" {
				return answer, nil
			}
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			next, err := answer.Location()
			if err = errors.Join(err, answer.Body.Close(), checkNext(at, next)); err != nil {
				return nil, err
			}
			at = next
			continue
		}
		refused := &answerError{status: answer.StatusCode, presented: presents && r.hasCredentials(), foreign: !presents}
		return nil, errors.Join(refused, answer.Body.Close())
	}
	return nil, fmt.Errorf("more than %d redirects", mostRedirects)
}

// checkNext refuses a redirect to what must not be asked.
func checkNext(at, next *url.URL) error {
	switch {
	case next == nil:
		return errors.New("the server redirects to nowhere")
	case next.User != nil:
		return errors.New("the server redirects to an address with credentials")
	case next.Scheme != "https" && (at.Scheme == "https" || next.Scheme != "http"):
		return fmt.Errorf("the server redirects from %s to %.20q", at.Scheme, next.Scheme)
	}
	return nil
}

// isOwn reports whether an address is at the server of the repository.
func (r *repository) isOwn(at *url.URL) bool { return isSameServer(at, r.base) }

// isSameServer reports whether two addresses have the same scheme, host and port.
func isSameServer(a, b *url.URL) bool { return a.Scheme == b.Scheme && hostPort(a) == hostPort(b) }

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

func (r *repository) hasCredentials() bool {
	return r.spec.Auth.Username != "" || r.spec.Auth.ClientCert != ""
}

func (r *repository) send(ctx context.Context, at *url.URL, header http.Header, presents bool) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, transport.Failed(source.ChartPull, "the address is malformed")
	}
	for name := range header {
		q.Header.Set(name, header.Get(name))
	}
	q.Header.Set("User-Agent", "truce")
	if !presents {
		return r.other.Do(q)
	}
	if a := r.spec.Auth; a.Username != "" || a.Password != "" {
		q.SetBasicAuth(a.Username, a.Password)
	}
	return r.own.Do(q)
}
