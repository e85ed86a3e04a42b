package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// How long a request may take. The API server ends what is no watch after 60 s (--request-timeout), and a write after 34 s; when it has not
// answered by then, it never will.
const (
	readLimit  = 65 * time.Second
	writeLimit = 40 * time.Second
)

// patient ends each request that gets no answer: none may hold a worker for ever. A watch has to be answered, and then goes on.
type patient struct {
	next        http.RoundTripper
	read, write time.Duration
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(q *http.Request) (*http.Response, error) {
	limit := p.write
	if q.Method == http.MethodGet {
		limit = p.read
	}
	silent := fmt.Errorf("the API server has not answered within %s", limit)
	ctx, end := context.WithCancelCause(q.Context())
	timer := time.AfterFunc(limit, func() { end(silent) })
	body := &awaited{ctx: ctx, end: func() { timer.Stop(); end(nil) }, silent: silent}
	answer, err := p.next.RoundTrip(q.WithContext(ctx))
	if err != nil {
		err = body.cause(err)
		body.end()
		return nil, err
	}
	if slices.Contains([]string{"1", "true"}, q.URL.Query().Get("watch")) {
		timer.Stop()
	}
	body.ReadCloser, answer.Body = answer.Body, body
	return answer, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (p patient) WrappedRoundTripper() http.RoundTripper { return p.next }

// awaited is the body of an answer, whose end is awaited no longer than the request may take.
type awaited struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request, which lasts until the body is closed
	end    func()
	silent error
}

// Read implements io.Reader.
func (a *awaited) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract is about io.EOF itself
		err = a.cause(err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *awaited) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

// cause is why a request failed: the limit, where that is what has ended it.
func (a *awaited) cause(err error) error {
	if context.Cause(a.ctx) == a.silent { //nolint:errorlint // it is the value itself
		return a.silent
	}
	return err
}
