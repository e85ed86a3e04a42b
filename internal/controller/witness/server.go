// Package witness answers: how do admission reviews reach the witness?
//
// In: a cluster, an address to listen on and how the API server reaches it, and the kinds that are in use.
// Out: every review in the ring; a ValidatingWebhookConfiguration that is kept while Run runs and removed when it ends.
// Promise: no request is refused, and none waits: the answer goes out before anything is done with a review, and what is more than can
// be taken in is not; keys never leave the process; only requests with the path of the configuration are read.
// Not here: what a review says (witness).
package witness

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/panics"
)

// maxReview is the largest review that is read: an object is at most 1.5 MiB in etcd, and comes as JSON, as it was and as it is.
const maxReview = 8 << 20

// inFlight is how many reviews are read at once. One more is turned away at once, which the API server is configured to ignore.
const inFlight = 32

// receiver answers reviews.
type receiver struct {
	path  string // which only the API server knows, by the configuration
	ring  *attribution.Ring
	slots chan struct{}
	wake  chan struct{}
	heard chan struct{} // has something when a probe was answered
}

func newReceiver(path string, ring *attribution.Ring) *receiver {
	return &receiver{path: path, ring: ring, slots: make(chan struct{}, inFlight), wake: make(chan struct{}, 1), heard: make(chan struct{}, 1)}
}

// ServeHTTP implements http.Handler. It answers first, and hands the review on after.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	at := time.Now()
	probe := subtle.ConstantTimeCompare([]byte(q.URL.Path), []byte(r.path+attribution.Probe)) == 1
	if q.Method != http.MethodPost || !probe && subtle.ConstantTimeCompare([]byte(q.URL.Path), []byte(r.path)) != 1 {
		http.NotFound(w, q)
		return
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(io.LimitReader(q.Body, maxReview+1))
	uid, ok := requestUID(body)
	if err != nil || !ok {
		http.Error(w, "no AdmissionReview with a uid", http.StatusBadRequest)
		return
	}
	if err := writeReview(w, uid); err != nil {
		return // the API server waits no longer
	}
	if probe {
		notifyWaiting(r.heard)
		return
	}
	if len(body) <= maxReview {
		r.ring.Add(body, at) // what does not fit is counted there
	}
	notifyWaiting(r.wake)
}

func notifyWaiting(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func writeReview(w http.ResponseWriter, uid string) error {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": map[string]any{"uid": uid, "allowed": true},
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	if _, err = w.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// requestUID finds request.uid without reading more than is before it: the server writes it first.
func requestUID(body []byte) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if !enterField(d, "request") {
		return "", false
	}
	if !enterField(d, "uid") {
		return "", false
	}
	t, err := d.Token()
	uid, ok := t.(string)
	return uid, ok && err == nil && uid != ""
}

// enterField reads from the begin of an object up to the value of the key.
func enterField(d *json.Decoder, key string) bool {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if t == key {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// drain reads what has arrived, so that it does not pile up between queries.
func (r *receiver) drain(ctx context.Context) {
	for {
		select {
		case <-r.wake:
			r.drainOnce()
		case <-ctx.Done():
			return
		}
	}
}

// drainOnce reads what has arrived. A review that cannot be read without a panic is lost, as one that cannot be read at all.
func (r *receiver) drainOnce() {
	var err error
	func() {
		defer panics.Recover(&err)
		r.ring.Drain()
	}()
	var p *panics.Error
	if errors.As(err, &p) {
		slog.Error("panic", "work", "review", "error", p.Value, "stack", p.Stack)
	}
}

// serveTLS answers on the listener until ctx ends.
func serveTLS(ctx context.Context, l net.Listener, h http.Handler, a *authority, log *slog.Logger) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.certificate},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // handshakes that others break off
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns its error
	defer stop()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}
