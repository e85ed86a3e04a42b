// Package reread answers: what if an API server refuses the stream of a read?
//
// In: the transport of a client.
// Out: a transport that sends such a read again, a few times.
// Promise: a write is sent once, and so is a read that was answered, whatever the answer.
// Not here: what a caller does with an answer, or with none (cluster).
package reread

import (
	"errors"
	"net/http"

	"golang.org/x/net/http2"
)

// mostReads is how often a read is sent whose stream the server refuses.
const mostReads = 3

// Transport sends a read again whose stream the server has refused. Where a connection has nearly all the streams that a server permits, as that of many
// watches, the server may count one that the client has just ended, and answer a new one with PROTOCOL_ERROR before it reads it (golang.org/x/net/http2).
type Transport struct{ Next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.Next.RoundTrip(q)
	for reads := 1; reads < mostReads && q.Method == http.MethodGet && isRefusedStream(err); reads++ {
		answer, err = r.Next.RoundTrip(q)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (r Transport) WrappedRoundTripper() http.RoundTripper { return r.Next }

func isRefusedStream(err error) bool {
	var stream http2.StreamError
	return errors.As(err, &stream) && stream.Code == http2.ErrCodeProtocol
}
