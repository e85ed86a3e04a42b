package lease

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// Transport returns a transport that passes reads to one and writes to another transport, whose connections come from Dial. A write is
// refused outside the term; else it carries the time that it may take, for this process (in its context) and for the server (in its query).
// Its answer is read whole before it is returned.
func (t *Term) Transport(reads, writes http.RoundTripper) http.RoundTripper {
	return &transport{term: t, reads: reads, writes: writes}
}

type transport struct {
	term          *Term
	reads, writes http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport below.
func (h *transport) WrappedRoundTripper() http.RoundTripper { return h.reads }

// RoundTrip implements http.RoundTripper.
func (h *transport) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method == http.MethodGet || q.Method == http.MethodHead || q.Method == http.MethodOptions {
		return h.reads.RoundTrip(q)
	}
	ctx, w, err := h.term.begin(q.Context())
	if err != nil {
		if q.Body != nil {
			_ = q.Body.Close() // as a RoundTripper must
		}
		return nil, err
	}
	answer, err := readToEnd(h.writes.RoundTrip(h.term.within(ctx, q, w)))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	h.term.done(w, err)
	return answer, err
}

// within is the request with the time that it may take.
func (t *Term) within(ctx context.Context, q *http.Request, w *write) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { t.leaving(w, true) }, // as often as the transport tries
		// over HTTP/2, which API servers speak, the bytes have left by then; over HTTP/1.1 the last of them are about to
		WroteRequest: func(httptrace.WroteRequestInfo) { t.leaving(w, false) },
	})
	q = q.Clone(ctx)
	values := q.URL.Query()
	values.Set("timeout", w.left.Round(time.Millisecond).String())
	q.URL.RawQuery = values.Encode()
	return q
}

// readToEnd reads an answer to its end.
func readToEnd(answer *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}

// Dial returns a function that opens the connections of writes. Nothing is written to one outside the term: a process may be stopped after a
// write has been let through, and continued long after. What the server's machine does not confirm in time, the kernel drops, also while the
// process is stopped (on Linux). A nil next dials itself.
func (t *Term) Dial(next func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	if next == nil {
		next = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := dropUnconfirmed(c, t.transit()); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return &conn{Conn: c, term: t}, nil
	}
}

// conn is a connection for writes.
type conn struct {
	net.Conn
	term *Term
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.term.mayLeave(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
