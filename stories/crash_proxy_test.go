package stories

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// toll is the road that every request of truce takes, to the API server and to git. It counts them, and at chosen ones something goes
// wrong. Watches are not counted: they are no steps of truce's, and never end.
type toll struct {
	api, git string // where truce finds the two
	ca       []byte // PEM, of api

	roads []*road

	mu   sync.Mutex
	life int                    // of truce; each connection belongs to the one that it was accepted in
	seen []string               // "PATCH /apis/…", since the last count from 1
	open map[*http.Request]bool // those of this life that are not answered yet
	at   map[int]fault          // by the number of the request
	hit  int                    // faults that have happened since arm

	steps  int    // as seen, without those of leader election, which never end
	leader string // in whose name the Lease was written last; empty where no leader is elected

	watches watches // what truce sees change

	unsafe []string // the deletes of this stage that would take whatever bears the name
}

// fault is what happens to a request in place of its way to the server and back.
type fault interface {
	strike(w http.ResponseWriter, r *http.Request, server http.Handler)
}

// death is how truce is killed.
type death struct {
	when moment
	kill func() // returns when it is dead
}

// strike kills truce; it never gets an answer.
func (d death) strike(_ http.ResponseWriter, r *http.Request, server http.Handler) {
	if d.when == after {
		server.ServeHTTP(httptest.NewRecorder(), r)
	}
	d.kill()
	panic(http.ErrAbortHandler)
}

// moment says what of the fatal request still happens.
type moment string

const (
	before moment = "before"   // the server never gets it
	after  moment = "answered" // the server has done it, and truce never learns
)

// newToll stands before the API server until the test ends.
func newToll(t *testing.T, config *rest.Config) *toll {
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
	return x
}

// serveGit stands before the repository until the test ends.
func (x *toll) serveGit(t *testing.T, repo *gittest.Repo) {
	t.Helper()
	backend := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	at, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	git := x.serve(t, "http://"+at.Host, http.DefaultTransport)
	git.Start()
	x.git = git.URL + at.Path
}

// serve prepares a reverse proxy that counts.
func (x *toll) serve(t *testing.T, to string, transport http.RoundTripper) *httptest.Server {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0) // it logs each client that was killed
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, quiet
	server := httptest.NewUnstartedServer(x.gate(proxy))
	r := &road{Listener: server.Listener, conns: map[net.Conn]bool{}}
	server.Listener, server.Config.ErrorLog, server.Config.ConnContext = r, quiet, x.accept
	x.mu.Lock()
	x.roads = append(x.roads, r)
	x.mu.Unlock()
	t.Cleanup(func() {
		x.mu.Lock()
		x.roads = slices.DeleteFunc(x.roads, func(other *road) bool { return other == r })
		x.mu.Unlock()
		r.cut()
		server.Close()
	})
	return server
}

func (x *toll) gate(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x.watches.outdated(w, r) {
			return
		}
		if isWatch(r) {
			x.watches.serve(w, r, to)
			return
		}
		if err := takeIn(r); err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		wrong := x.count(r)
		defer x.answered(r)
		if wrong == nil {
			to.ServeHTTP(w, r)
			return
		}
		wrong.strike(w, r, to)
	})
}

// takeIn takes in all of a request's body before the request goes on. Over HTTP/2 a client sends no more of it once it reads an error, and
// httputil.ReverseProxy, which has passed the error on, waits for the rest without end: both stand still.
func takeIn(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body = wholeBody(r)
	return err
}

// wholeBody is the body of a request that was taken in, from its beginning.
func wholeBody(r *http.Request) io.ReadCloser {
	body, err := r.GetBody()
	if err != nil {
		panic(err) // takeIn's returns none
	}
	return body
}

func isWatch(r *http.Request) bool {
	return slices.Contains([]string{"1", "true"}, r.URL.Query().Get("watch"))
}

// count counts the request and returns what goes wrong with it, if anything. What a dead truce has asked for may come late: it counts no more.
func (x *toll) count(r *http.Request) fault {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Context().Value(lifeKey{}) != x.life {
		return nil
	}
	x.seen = append(x.seen, stepOf(r))
	if isElection(r) {
		if r.Method != http.MethodGet {
			x.leader = r.Header.Get(impersonated)
		}
	} else {
		x.steps++
		x.open[r] = true
	}
	if r.Method == http.MethodDelete && !strings.Contains(r.URL.Path, "/truce-") && !preconditioned(r) { // its own records bear truce's name
		x.unsafe = append(x.unsafe, stepOf(r))
	}
	wrong := x.at[len(x.seen)]
	if wrong != nil {
		x.hit++
	}
	return wrong
}

// impersonated is the header that distinguishes truces that stand for election.
const impersonated = "Impersonate-User"

// isElection reports whether a request is one of leader election, which goes on while truce rests.
func isElection(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/leases") && !strings.Contains(r.URL.Path, ".git/")
}

// maker is the truce that has made a request, by its name for the election; git names none, and only the leader asks it.
func (x *toll) maker(r *http.Request) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(r.Header.Get(impersonated), x.leader)
}

// elected is the truce that has written the Lease last.
func (x *toll) elected() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.leader
}

// preconditioned reports whether a delete names the uid and the resourceVersion of the object that is meant.
func preconditioned(r *http.Request) bool {
	var o metav1.DeleteOptions
	err := json.NewDecoder(wholeBody(r)).Decode(&o)
	return err == nil && o.Preconditions != nil && o.Preconditions.UID != nil && o.Preconditions.ResourceVersion != nil
}

// unsafeDeletes are the deletes without preconditions.
func (x *toll) unsafeDeletes() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.unsafe)
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

// traffic is how many requests were made since arm, and how many of all are not answered yet; those of leader election are left out.
type traffic struct{ seen, open int }

func (x *toll) traffic() traffic {
	x.mu.Lock()
	defer x.mu.Unlock()
	return traffic{x.steps, len(x.open)}
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

// arm counts from 1 again; a fault happens at the request of its number.
func (x *toll) arm(at map[int]fault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen, x.steps, x.at, x.hit = nil, 0, at, 0
}

// forget forgets what was asked for: another stage begins.
func (x *toll) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen, x.steps, x.at, x.hit, x.unsafe = nil, 0, nil, 0, nil
}

// spare lets the next truce live: a death that has not happened does not.
func (x *toll) spare() {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.at, func(_ int, f fault) bool {
		_, kills := f.(death)
		return kills
	})
}

// disarm lets all requests pass from now on, and returns how many faults have happened since arm. It counts from 1 again.
func (x *toll) disarm() (hit int) {
	x.watches.mend()
	x.mu.Lock()
	defer x.mu.Unlock()
	hit = x.hit
	x.seen, x.steps, x.at, x.hit = nil, 0, nil, 0
	return hit
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
	for _, r := range x.all() {
		r.cut()
	}
}

func (x *toll) mend() {
	for _, r := range x.all() {
		r.mend()
	}
}

func (x *toll) all() []*road {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.roads)
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
