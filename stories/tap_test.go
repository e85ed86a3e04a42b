package stories

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// tap sits between a story's truce and the API server. It may let something happen before a request goes on its way, or answer it itself.
type tap struct {
	mu   sync.Mutex
	see  func(*http.Request) *http.Response // nil to let it pass; called for one request at a time
	seen []string                           // "PATCH /apis/…", since see was set
	cut  func(*http.Request) bool           // nil for nothing
	away string                             // the end of the path of what truce can neither list nor watch; empty for nothing
	open map[io.Closer]string               // what the server still sends to watches, by path
	held string                             // a part of the path of what gets no answer yet; empty for nothing
	free chan struct{}                      // closed when held gets its answer
	wait int                                // how many are held
}

// hold has requests whose path has the part wait until the returned function is called, as those do that a webhook does not answer.
func (x *tap) hold(part string) (free func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held, x.free, x.wait = part, make(chan struct{}), 0
	return sync.OnceFunc(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.held = ""
		close(x.free)
	})
}

// waiting is how many requests hold has made wait.
func (x *tap) waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.wait
}

// await waits while a request is held.
func (x *tap) await(r *http.Request) error {
	x.mu.Lock()
	if x.held == "" || !strings.Contains(r.URL.Path, x.held) || isWatch(r) {
		x.mu.Unlock()
		return nil
	}
	free := x.free
	x.wait++
	x.mu.Unlock()
	select {
	case <-free:
		return nil
	case <-r.Context().Done():
		return context.Cause(r.Context())
	}
}

// leave ends the watches of a path that ends so, and fails each list and watch of it until the returned function is called.
func (x *tap) leave(path string) (back func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.away = path
	for body, at := range x.open {
		if strings.HasSuffix(at, path) {
			_ = body.Close() // a connection that is cut is what this is for
			delete(x.open, body)
		}
	}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.away = ""
	}
}

// isAway reports whether a request gets no answer.
func (x *tap) isAway(r *http.Request) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.away != "" && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, x.away)
}

// keep remembers what the server sends to a watch.
func (x *tap) keep(r *http.Request, body io.Closer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open == nil {
		x.open = map[io.Closer]string{}
	}
	x.open[body] = r.URL.Path
}

// lose has truce never learn what the server says to the next write whose path ends so and whose body has the part: it is done all the
// same. It returns whether that has happened.
func (x *tap) lose(path, part string) (lost func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut = func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, path) && strings.Contains(bodyOf(r), part)
	}
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.cut == nil
	}
}

// loses reports whether the answer to a request is to be lost.
func (x *tap) loses(r *http.Request) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cut == nil || r.Method == http.MethodGet || !x.cut(r) {
		return false
	}
	x.cut = nil
	return true
}

// bodyOf is what a request sends; it still does.
func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	text, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return ""
	}
	return string(text)
}

var errCut = errors.New("connection reset by peer")

// set makes the tap look at each request from now on.
func (x *tap) set(see func(*http.Request) *http.Response) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.see, x.seen = see, nil
}

// requests are those since the last set whose text has the part, but for dry runs and watches.
func (x *tap) requests(part string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(x.seen), func(s string) bool { return !strings.Contains(s, part) })
}

func (x *tap) wrap(next http.RoundTripper) http.RoundTripper { return tapped{x, next} }

type tapped struct {
	tap  *tap
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t tapped) RoundTrip(r *http.Request) (*http.Response, error) {
	if answer := t.tap.look(r); answer != nil {
		return answer, nil
	}
	if t.tap.isAway(r) {
		return nil, errCut
	}
	if err := t.tap.await(r); err != nil {
		return nil, err
	}
	lost := t.tap.loses(r)
	answer, err := t.next.RoundTrip(r)
	if err == nil && isWatch(r) {
		t.tap.keep(r, answer.Body)
	}
	if lost && err == nil {
		return nil, errors.Join(errCut, answer.Body.Close())
	}
	return answer, err
}

func (x *tap) look(r *http.Request) *http.Response {
	if isWatch(r) || r.URL.Query().Has("dryRun") {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.see == nil {
		return nil
	}
	answer := x.see(r)
	word := r.Method + " " + r.URL.Path
	if answer != nil {
		word += " " + answer.Status
	}
	x.seen = append(x.seen, word)
	return answer
}

// broken is the answer of a server that has trouble.
func broken(r *http.Request) *http.Response {
	const text = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request timed out","reason":"InternalError","code":500}`
	return &http.Response{
		Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}
}
