package webhooks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// What requests may cost.
const (
	mostBytes       = 1 << 20 // of a body
	mostBodies      = 64      // that are read at once
	mostConnections = 512
	mostHeader      = 32 << 10
	perSecond       = 5  // webhooks of one Receiver, on average
	burst           = 50 // and at once
	triesFactor     = 20 // as many where the sender is not verified yet
)

// Serve answers requests until ctx ends.
func (h *Hooks) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: mostHeader,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns its error
	defer stop()
	if err := server.Serve(netutil.LimitListener(l, mostConnections)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks at %s: %w", l.Addr(), err)
	}
	return nil
}

// ServeHTTP implements http.Handler. The path of a request may be a secret: it is in no log.
func (h *Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	done := false
	h.guard("webhook", func() {
		h.route(w, r)
		done = true
	})
	if !done {
		http.Error(w, "this request made truce fail; its log says more", http.StatusInternalServerError)
	}
}

func (h *Hooks) route(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.leads.Load():
		w.Header().Set("Retry-After", "10")
		http.Error(w, "this truce stands by", http.StatusServiceUnavailable)
	case r.URL.Path == argoPath:
		h.pushed(w, r)
	case strings.HasPrefix(r.URL.Path, "/hook/") && !h.knows.Load():
		answer{http.StatusServiceUnavailable, "this truce has only begun"}.write(w)
	case strings.HasPrefix(r.URL.Path, "/hook/"):
		h.receive(w, r)
	default:
		http.NotFound(w, r)
	}
}

// answer is what a sender gets.
type answer struct {
	status int
	text   string
}

var tooMany = answer{http.StatusTooManyRequests, "too many webhooks"}

func (a answer) write(w http.ResponseWriter) {
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.text+"\n") // the sender has gone
}

// receive answers a request for the path of a Receiver.
func (h *Hooks) receive(w http.ResponseWriter, r *http.Request) {
	all := h.at(r.URL.Path)
	if len(all) == 0 {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	if !all[0].pace.Allow() {
		tooMany.write(w)
		return
	}
	body, failed := h.body(w, r)
	if failed != (answer{}) {
		failed.write(w)
		return
	}
	var worst answer
	for _, e := range all {
		if a := h.take(r.Context(), e, r.Header, body); a.status > worst.status {
			worst = a
		}
	}
	worst.write(w)
}

// at returns the Receivers at a path: one, unless tokens and names together make the same.
func (h *Hooks) at(path string) []*entry {
	digest := sha256.Sum256([]byte(path))
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*entry
	for _, key := range h.paths[digest] {
		out = append(out, h.receivers[key])
	}
	return out
}

// body reads a body within the limits; else it returns what is to be answered.
func (h *Hooks) body(w http.ResponseWriter, r *http.Request) ([]byte, answer) {
	if r.ContentLength > mostBytes {
		return nil, answer{http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB"}
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return nil, answer{http.StatusServiceUnavailable, "busy"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, answer{http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB"}
	case err != nil:
		return nil, answer{http.StatusRequestTimeout, "the body did not come in time"}
	}
	return body, answer{}
}

// take does what a request asks a Receiver for.
func (h *Hooks) take(ctx context.Context, e *entry, header http.Header, body []byte) answer {
	r := e.receiver
	if r.Suspended {
		return answer{http.StatusServiceUnavailable, "the Receiver is suspended: nothing was requested"}
	}
	claims, refusal := h.verify(ctx, e, header, body)
	if refusal != (answer{}) {
		return refusal
	}
	event := webhook.EventOf(r.Type, header)
	if !r.Takes(event) { // Flux answers 400; there are servers of Git that stop sending to who does
		return answer{http.StatusOK, "the event is not in spec.events: nothing was requested"}
	}
	var payload any
	if r.NeedsPayload() {
		var err error
		if payload, err = webhook.Payload(r.Type, header, body); err != nil {
			return answer{http.StatusBadRequest, err.Error()}
		}
	}
	requested, missing, err := h.request(r, map[string]any{cel.Body: payload, cel.Claims: claims})
	switch {
	case err != nil:
		h.Log.Warn("webhook", "receiver", r.Key.String(), "requested", requested, "error", err.Error())
		return answer{http.StatusInternalServerError, "a filter of the Receiver cannot be evaluated over this body"}
	case len(missing) > 0:
		h.Log.Warn("webhook", "receiver", r.Key.String(), "requested", requested, "missing", missing)
		return answer{http.StatusInternalServerError, fmt.Sprintf("requested: %d; %d of the Receiver's resources are not there", requested, len(missing))}
	}
	h.Log.Info("webhook", "receiver", r.Key.String(), "event", event, "requested", requested)
	return answer{http.StatusOK, fmt.Sprintf("requested: %d", requested)}
}

// request has the named resources look for news that pass the filters, and returns how many, and which are not there. An error is of the first filter that
// failed.
func (h *Hooks) request(r webhook.Receiver, about map[string]any) (requested int, missing []string, failed error) {
	for _, s := range r.Resources {
		there := s.Name == "*"
		for _, cr := range h.Work.CustomResources(s.Kind, s.Namespace) {
			if !s.Matches(cr) {
				continue
			}
			there = true
			pass, err := passesFilters(cr, about, r.Filter, s.Filter)
			if err != nil && failed == nil {
				failed = err
			}
			if pass {
				h.Work.Request(s.Kind, s.Namespace, cr.Name())
				requested++
			}
		}
		if !there {
			missing = append(missing, s.Kind+" "+s.Namespace+"/"+s.Name)
		}
	}
	return requested, missing, failed
}

// passesFilters reports whether all filters are true of a resource and what else they are about.
func passesFilters(cr object.Object, about map[string]any, filters ...cel.Expression) (bool, error) {
	values := maps.Clone(about)
	values[cel.Resource] = map[string]any{"apiVersion": cr["apiVersion"], "kind": cr["kind"], "metadata": cr["metadata"]}
	for _, f := range filters {
		if f.IsZero() {
			continue
		}
		if pass, err := f.IsTrue(values); err != nil || !pass {
			return false, err
		}
	}
	return true, nil
}
