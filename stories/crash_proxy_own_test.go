package stories

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// hanging is a server that answers on request, whether the client still waits or not.
type hanging chan chan struct{}

// RoundTrip implements http.RoundTripper.
func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := make(chan struct{})
	h <- answer
	<-answer
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("done")), Request: r}, nil
}

// TestWhatADeadTruceHasAskedForIsNotWaitedFor is about the toll alone: the first of two clients is the one that dies.
func TestWhatADeadTruceHasAskedForIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	x, server := &toll{open: map[*http.Request]bool{}}, make(hanging)
	proxy := x.serve(t, "http://server.example", server)
	proxy.Start()
	ask := func(c *http.Client, path string) (answer func()) {
		ended := make(chan error)
		go func() {
			r, err := c.Get(proxy.URL + path)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close() // it has been read
			}
			ended <- err
		}()
		waiting := <-server
		return func() {
			close(waiting)
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	counts := func(when string, want traffic) {
		t.Helper()
		if got := x.traffic(); got != want {
			t.Errorf("%s: %+v, want %+v; unanswered: %q", when, got, want, x.unanswered())
		}
	}
	dying, next := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
	t.Cleanup(dying.CloseIdleConnections)
	t.Cleanup(next.CloseIdleConnections)

	ask(dying, "/a")()
	counts("after an answer", traffic{seen: 1})
	first := ask(dying, "/b")
	counts("before an answer", traffic{seen: 2, open: 1})
	x.next()
	counts("after the death", traffic{seen: 2})
	second := ask(next, "/c")
	counts("in the next life", traffic{seen: 3, open: 1})
	first()
	counts("after the answer to the dead", traffic{seen: 3, open: 1})
	ask(dying, "/late")()
	counts("after what comes late by an old connection", traffic{seen: 3, open: 1})
	second()
	counts("at rest", traffic{seen: 3})
}

// hasty refuses a request before it has read its body, and begins to read it afterwards, as an API server's HTTP/2 connection does.
type hasty struct{}

// RoundTrip implements http.RoundTripper.
func (hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, r.Body) // what comes of it is not the question
	}()
	return &http.Response{StatusCode: http.StatusNotFound, Body: refusal{strings.NewReader("no such subresource"), read}, Request: r}, nil
}

// refusal is the body of an answer that cannot be closed while the request is being read.
type refusal struct {
	io.Reader
	read chan struct{}
}

// Close implements io.Closer.
func (r refusal) Close() error {
	<-r.read
	return nil
}

// TestARequestThatIsRefusedEarlyIsAnswered is about the toll alone, and a client that stops sending when it reads an error: the server may only
// answer when it has all of the request.
func TestARequestThatIsRefusedEarlyIsAnswered(t *testing.T) {
	t.Parallel()
	x := &toll{open: map[*http.Request]bool{}}
	proxy := x.serve(t, "http://server.example", hasty{})
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	client := proxy.Client()
	for range 100 {
		r, err := client.Post(proxy.URL+"/status", "text/plain", io.MultiReader(strings.NewReader("a"), strings.NewReader("b")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close() // it has been read
	}
	if got := x.traffic(); got.open > 0 {
		t.Errorf("unanswered: %q", x.unanswered())
	}
}
