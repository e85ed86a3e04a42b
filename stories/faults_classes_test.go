package stories

import (
	"encoding/json"
	"fmt"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// effect is what a fault does with a request.
type effect string

const (
	killed  effect = "killed"  // truce is killed
	refused effect = "refused" // the request is answered in the server's place
	denied  effect = "denied"  // the server does it, and the answer is another one
	cut     effect = "cut"     // the connection ends before an answer
	halved  effect = "halved"  // the connection ends within the answer
	silent  effect = "silent"  // no answer, until truce gives up
	slow    effect = "slow"    // the answer takes a while
	twice   effect = "twice"   // the server gets it twice, and the second answer counts
	paused  effect = "paused"  // truce stands still for a while (SIGSTOP), and then gets its answer
	severed effect = "severed" // every connection ends, those of the watches too
	expired effect = "expired" // all watches end with 410 Gone
	delayed effect = "delayed" // no event comes for a while, then all
	doubled effect = "doubled" // each event comes twice from now on
	missed  effect = "missed"  // events are lost for a while, then all watches end with 410 Gone
	endless effect = "endless" // all watches end with 410 Gone, and bookmarks are lost for a while: streamed lists do not end
	stale   effect = "stale"   // all watches end with 410 Gone, and for a while lists show the state before the scene
	lagging effect = "lagging" // for a while lists show the state before the scene, and watches go on
)

// faultClass is a kind of fault, by what truce sees of it.
type faultClass struct {
	name   string
	effect effect
	when   moment // of killed, cut and severed: whether the server does what was asked
	code   int    // of refused and denied: the status of the answer
	body   string // of refused and denied; empty for what the API server would say with that code
}

const page = "<!doctype html><html><title>Sign in</title><p>Please sign in.</html>"

// faultClasses are the faults of `make faults`.
var faultClasses = []faultClass{
	{name: "killed before the request", effect: killed, when: before},
	{name: "killed before the answer", effect: killed, when: after},
	{name: "paused for 3 s", effect: paused},
	{name: "connection cut before the request", effect: cut, when: before},
	{name: "connection cut before the answer", effect: cut, when: after},
	{name: "connection cut within the answer", effect: halved},
	{name: "all connections cut before the request", effect: severed, when: before},
	{name: "all connections cut before the answer", effect: severed, when: after},
	{name: "no answer", effect: silent},
	{name: "an answer after 2 s", effect: slow},
	{name: "the request arrives twice", effect: twice},
	{name: "401", effect: refused, code: http.StatusUnauthorized},
	{name: "403", effect: refused, code: http.StatusForbidden},
	{name: "404", effect: refused, code: http.StatusNotFound},
	{name: "409", effect: refused, code: http.StatusConflict},
	{name: "410", effect: refused, code: http.StatusGone},
	{name: "429", effect: refused, code: http.StatusTooManyRequests},
	{name: "500", effect: refused, code: http.StatusInternalServerError},
	{name: "500 though it was done", effect: denied, code: http.StatusInternalServerError},
	{name: "503", effect: refused, code: http.StatusServiceUnavailable},
	{name: "504 though it was done", effect: denied, code: http.StatusGatewayTimeout},
	{name: "a page of HTML with 200", effect: refused, code: http.StatusOK, body: page},
	{name: "a page of HTML with 502", effect: refused, code: http.StatusBadGateway, body: page},
	{name: "an empty answer with 200", effect: refused, code: http.StatusOK, body: " "},
	{name: "all watches end with 410", effect: expired},
	{name: "events 2 s late", effect: delayed},
	{name: "each event twice", effect: doubled},
	{name: "events lost for 1 s and then 410", effect: missed},
	{name: "all watches end with 410 and bookmarks are lost for 1 s", effect: endless},
	{name: "all watches end with 410 and lists are out of date for 1 s", effect: stale},
	{name: "lists are out of date for 1 s while watches go on", effect: lagging},
}

const (
	pauseOf   = 3 * time.Second
	delayOf   = 2 * time.Second
	silenceOf = 30 * time.Second // then the connection ends: some proxy always gives up
)

// kills reports whether truce has to be started again after the fault.
func (c faultClass) kills() bool { return c.effect == killed }

// on is the fault on a stage.
func (c faultClass) on(s *stage) fault {
	if c.effect == killed && s.pair == nil {
		return death{c.when, s.kill}
	}
	b := blow{faultClass: c, stage: s}
	if c.effect == stale || c.effect == lagging {
		b.past, s.wentBack = s.version(), true
	}
	return b
}

// version is the resourceVersion that the API server has reached.
func (s *stage) version() string {
	s.t.Helper()
	all, err := s.client.Resource(namespaces).List(s.ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.GetResourceVersion()
}

// blow is a fault that truce outlives.
type blow struct {
	faultClass
	stage *stage
	past  string // of stale and lagging: the resourceVersion before the scene
}

// strike implements fault.
func (b blow) strike(w http.ResponseWriter, r *http.Request, server http.Handler) {
	switch b.effect {
	case refused:
		b.answer(w, r)
	case denied:
		server.ServeHTTP(httptest.NewRecorder(), r)
		b.answer(w, r)
	case twice:
		b.twice(w, r, server)
	case slow:
		await(r, delayOf)
		server.ServeHTTP(w, r)
	case silent:
		await(r, silenceOf)
		panic(http.ErrAbortHandler)
	case paused:
		b.pause(r)
		server.ServeHTTP(w, r)
	case killed:
		b.kill(r, server)
	case expired, delayed, doubled, missed, endless, stale, lagging:
		b.watched()
		server.ServeHTTP(w, r)
	case halved:
		b.half(w, r, server)
	default:
		b.cut(r, server)
	}
}

// answer answers in the server's place.
func (b blow) answer(w http.ResponseWriter, r *http.Request) {
	body, kind := b.body, "text/html"
	if body == "" && !strings.Contains(r.URL.Path, ".git/") {
		reason := map[int]metav1.StatusReason{
			http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
			http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
			http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
			http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
		}[b.code]
		text, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(b.code), Reason: reason, Message: "injected: " + b.name,
		})
		if err != nil {
			panic(err) // of strings
		}
		body, kind = string(text), "application/json"
	}
	w.Header().Set("Content-Type", kind)
	if b.code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(b.code)
	fmt.Fprint(w, body)
}

func (b blow) twice(w http.ResponseWriter, r *http.Request, server http.Handler) {
	again := r.Clone(r.Context())
	again.Body = wholeBody(r)
	server.ServeHTTP(httptest.NewRecorder(), r)
	server.ServeHTTP(w, again)
}

// pause stops truce's own process, not its helpers: it is what a frozen machine or a debugger does.
func (b blow) pause(r *http.Request) {
	if pair := b.stage.pair; pair != nil {
		name := b.stage.toll.maker(r)
		pair.signal(name, syscall.SIGSTOP)
		kubetest.Span(b.stage.t.Context(), pauseOf)
		pair.endPause(name)
		return
	}
	p := b.stage.truce.Load()
	if err := p.signal(syscall.SIGSTOP); err != nil {
		b.stage.t.Error(err)
		return
	}
	kubetest.Span(b.stage.t.Context(), pauseOf)
	if err := p.signal(syscall.SIGCONT); err != nil {
		b.stage.t.Error(err)
	}
}

// kill kills one of two truces.
func (b blow) kill(r *http.Request, server http.Handler) {
	if b.when == after {
		server.ServeHTTP(httptest.NewRecorder(), r)
	}
	b.stage.pair.signal(b.stage.toll.maker(r), syscall.SIGKILL)
	panic(http.ErrAbortHandler)
}

func (b blow) half(w http.ResponseWriter, r *http.Request, server http.Handler) {
	whole := httptest.NewRecorder()
	server.ServeHTTP(whole, r)
	for k, v := range whole.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2]) // a client that has gone sees no fault
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

func (b blow) cut(r *http.Request, server http.Handler) {
	if b.when == after {
		server.ServeHTTP(httptest.NewRecorder(), r)
	}
	if b.effect == severed {
		b.stage.toll.cut()
		b.stage.toll.mend()
	}
	panic(http.ErrAbortHandler)
}

// await waits for a while, or until the client gives up.
func await(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}
