package reread_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/reread"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// refuseStreams serves connections of HTTP/2, and refuses the first streams; every other one is answered with an empty object. It counts all.
func refuseStreams(t *testing.T, refused int64) (host string, streams *atomic.Int64) {
	t.Helper()
	lender := httptest.NewTLSServer(nil)
	config := &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}}
	lender.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	streams = &atomic.Int64{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go serveStreams(conn, refused, streams)
		}
	}()
	return "https://" + l.Addr().String(), streams
}

func serveStreams(conn net.Conn, refused int64, streams *atomic.Int64) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	_ = f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		h, is := frame.(*http2.HeadersFrame)
		if !is {
			continue
		}
		if streams.Add(1) <= refused {
			_ = f.WriteRSTStream(h.StreamID, http2.ErrCodeProtocol)
			continue
		}
		var head bytes.Buffer
		_ = hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: h.StreamID, BlockFragment: head.Bytes(), EndHeaders: true})
		_ = f.WriteData(h.StreamID, true, []byte("{}"))
	}
}

// TestAReadIsSentAgainWhoseStreamIsRefused: a few times, and no write.
func TestAReadIsSentAgainWhoseStreamIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		method        string
		refused, want int64
		answered      bool
	}{
		"read":             {http.MethodGet, 2, 3, true},
		"read, for ever":   {http.MethodGet, 100, 3, false},
		"read, not at all": {http.MethodGet, 0, 1, true},
		"write":            {http.MethodPost, 1, 1, false},
	} {
		host, streams := refuseStreams(t, c.refused)
		config := &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reread.Transport{Next: next} })
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequestWithContext(t.Context(), c.method, host+"/version", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(q)
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != c.answered || streams.Load() != c.want {
			t.Errorf("%s: %d streams, %v", name, streams.Load(), err)
		}
	}
}
