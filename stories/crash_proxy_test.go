package stories

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/gittest"
	"k8s.io/client-go/rest"
)

// toll is the road that every request of truce takes, to the API server and to git. It counts them, and at a chosen one it
// kills truce. Watches pass freely: they are no steps of truce's, and never end.
type toll struct {
	api, git string // where truce finds the two
	ca       []byte // PEM, of api

	roads []*road

	mu   sync.Mutex
	life int                    // of truce; each connection belongs to the one that it was accepted in
	seen []string               // "PATCH /apis/…", since the last count from 1
	open map[*http.Request]bool // those of this life that are not answered yet
	at   int                    // kill at this one; 0 for never
	way  death
}

// death is how truce is killed.
type death struct {
	when moment
	kill func() // returns when it is dead
}

// moment says what of the fatal request still happens.
type moment string

const (
	before moment = "before"   // the server never gets it
	after  moment = "answered" // the server has done it, and truce never learns
)

// newToll stands before the API server and the repository until the test ends.
func newToll(t *testing.T, config *rest.Config, repo *gittest.Repo) *toll {
	t.Helper()
	x := &toll{open: map[*http.Request]bool{}}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	api := x.serve(t, config.Host, transport)
	api.EnableHTTP2 = true
	api.StartTLS()
	x.api, x.ca = api.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	backend := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	at, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	git := x.serve(t, "http://"+at.Host, http.DefaultTransport)
	git.Start()
	x.git = git.URL + at.Path
	return x
}

// serve prepares a reverse proxy that counts.
func (x *toll) serve(t *testing.T, to string, transport http.RoundTripper) *httptest.Server {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0) // it tells of each client that was killed
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, quiet
	server := httptest.NewUnstartedServer(x.gate(proxy))
	r := &road{Listener: server.Listener, conns: map[net.Conn]bool{}}
	server.Listener, server.Config.ErrorLog, server.Config.ConnContext = r, quiet, x.accept
	x.roads = append(x.roads, r)
	t.Cleanup(func() {
		r.cut()
		server.Close()
	})
	return server
}

func (x *toll) gate(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if watches(r) {
			to.ServeHTTP(w, r)
			return
		}
		way, fatal := x.count(r)
		defer x.answered(r)
		if err := takeIn(r); err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		if !fatal {
			to.ServeHTTP(w, r)
			return
		}
		if way.when == after {
			to.ServeHTTP(httptest.NewRecorder(), r)
		}
		way.kill()
		panic(http.ErrAbortHandler)
	})
}

// takeIn takes in all of a request's body before the request goes on. Over HTTP/2 a client sends no more of it once it reads an error, and
// httputil.ReverseProxy, which has passed the error on, waits for the rest without end: both stand still.
func takeIn(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err
}

func watches(r *http.Request) bool {
	return slices.Contains([]string{"1", "true"}, r.URL.Query().Get("watch"))
}

// count counts the request and reports whether it is the one to kill at. What a dead truce has asked for may come late: it counts no more.
func (x *toll) count(r *http.Request) (death, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Context().Value(lifeKey{}) != x.life {
		return death{}, false
	}
	x.seen = append(x.seen, stepOf(r))
	x.open[r] = true
	return x.way, x.at == len(x.seen)
}

func stepOf(r *http.Request) string { return r.Method + " " + r.URL.Path }

func (x *toll) answered(r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, r)
}

// next begins the life of another truce: nothing is waited for that a dead one has asked for.
func (x *toll) next() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.life++
	x.open = map[*http.Request]bool{}
}

type lifeKey struct{}

func (x *toll) accept(ctx context.Context, _ net.Conn) context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	return context.WithValue(ctx, lifeKey{}, x.life)
}

// traffic is how many requests were made since arm, and how many of all are not answered yet.
type traffic struct{ seen, open int }

func (x *toll) traffic() traffic {
	x.mu.Lock()
	defer x.mu.Unlock()
	return traffic{len(x.seen), len(x.open)}
}

// unanswered are the requests that truce waits for.
func (x *toll) unanswered() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for r := range x.open {
		out = append(out, stepOf(r))
	}
	return out
}

// arm counts from 1 again and kills at the n-th request; 0 only counts.
func (x *toll) arm(n int, way death) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen, x.at, x.way = nil, n, way
}

// requests are those since arm.
func (x *toll) requests() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.seen)
}

// isWrite reports whether a request that toll counted may change something.
func isWrite(request string) bool {
	return !strings.HasPrefix(request, "GET ") && !strings.HasSuffix(request, "/git-upload-pack")
}

// cut ends all connections and lets no new one live until mend.
func (x *toll) cut() {
	for _, r := range x.roads {
		r.cut()
	}
}

func (x *toll) mend() {
	for _, r := range x.roads {
		r.mend()
	}
}

// road is a listener whose connections can be cut.
type road struct {
	net.Listener
	mu     sync.Mutex
	broken bool
	conns  map[net.Conn]bool
}

// Accept implements net.Listener.
func (r *road) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
	if r.broken {
		_ = c.Close() // that is what a cut road does
	}
	return c, nil
}

func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
	for c := range r.conns {
		_ = c.Close() // the client sees it, which is all that is wanted
	}
	clear(r.conns)
}

func (r *road) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = false
}
