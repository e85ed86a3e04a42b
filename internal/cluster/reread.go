package cluster

import (
	"errors"
	"net/http"

	"golang.org/x/net/http2"
)

// mostReads is how often a read is sent whose stream the server refuses.
const mostReads = 3

// rereading sends a read again whose stream the server has refused. Where a connection has nearly all the streams that a server permits, as that of many
// watches, the server may count one that the client has just ended, and answer a new one with PROTOCOL_ERROR before it reads it (golang.org/x/net/http2).
type rereading struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r rereading) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(q)
	for reads := 1; reads < mostReads && q.Method == http.MethodGet && isRefusedStream(err); reads++ {
		answer, err = r.next.RoundTrip(q)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (r rereading) WrappedRoundTripper() http.RoundTripper { return r.next }

func isRefusedStream(err error) bool {
	var stream http2.StreamError
	return errors.As(err, &stream) && stream.Code == http2.ErrCodeProtocol
}
