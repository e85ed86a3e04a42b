// Package webhooks answers: who may ask this controller to look for news at once, and what is asked?
//
// In: watches of Receivers, and their Secrets; HTTP requests.
// Out: sources that are fetched and apps that run at once; the statuses of Receivers.
// Promise: a request costs little before it is verified: an unknown path reads no body, a body has 1 MiB at most and comes within seconds, and
// few are read at once; no request waits for a fetch; only the leader answers; no token is in a log, status or answer.
// Not here: signatures and payloads (source/webhook), tokens (source/oidc), what custom resources mean (dialect), fetching (controller).
package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"golang.org/x/time/rate"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/oidc"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// Dialect translates Receivers. Its methods change nothing that they are given.
type Dialect interface {
	// Kind returns the kind of Receivers.
	Kind() object.GVK
	// Receiver reads a Receiver, without its token.
	Receiver(cr object.Object) webhook.Receiver
	// WebhookPath returns the path at which a Receiver with that token takes webhooks.
	WebhookPath(key webhook.Key, token string) string
	// Status returns the whole new .status of a Receiver.
	Status(cr object.Object, s webhook.State) map[string]any
}

// Work is what a webhook asks for. Its methods do not block, and may be called by several goroutines.
type Work interface {
	// CustomResources returns the custom resources of a kind that the controller works on in a namespace.
	CustomResources(kind, namespace string) []object.Object
	// Request has a source be fetched, or an app run, at once.
	Request(kind, namespace, name string)
	// RequestPushed has the sources be fetched at once that follow what was pushed, and returns how many.
	RequestPushed(p webhook.Push) int
}

// Place is where webhooks come in, and the Service by which they do.
type Place struct {
	Listen         string // address; empty for none
	endpoint.Place        // a Service without a selector; the zero value for none
}

// Options are what Hooks work with.
type Options struct {
	Cluster    *cluster.Client
	Watcher    live.Watcher
	Live       live.Reader
	Dialect    Dialect
	Namespaces cluster.Namespaces
	Work       Work
	Place      Place
	Servers    egress.Policy // of the issuers of tokens
	Panics     panics.Counter
	Log        *slog.Logger
}

// Hooks take the webhooks of a controller.
type Hooks struct {
	Options
	slots  chan struct{} // of bodies that are read
	tokens *oidc.Verifier
	leads  atomic.Bool
	knows  atomic.Bool // the Receivers

	mu        sync.Mutex
	receivers map[webhook.Key]*entry
	paths     map[[sha256.Size]byte][]webhook.Key // by the digest of a path
	changed   chan struct{}

	argoTries *rate.Limiter     // of all: the path is known to strangers
	argoPace  *rate.Limiter     // of verified senders
	argoTurn  sync.Mutex        // of the fields below
	argo      map[string]string // the secrets of webhooks in argocd-secret; nil where that is not there
	argoRead  time.Time
}

// entry is a Receiver. It is replaced, never changed.
type entry struct {
	cr       object.Object
	receiver webhook.Receiver
	secret   webhook.Secret
	path     string
	missing  string // why the secret is not known
	version  string // the resourceVersion of the Secret that was read; empty for one that is not there
	handled  string
	pace     *rate.Limiter
	due      time.Time // when the Secret is read again; zero for at once
}

// NewHooks returns Hooks. Run and Serve do the work.
func NewHooks(o Options) *Hooks {
	return &Hooks{
		Options: o, tokens: &oidc.Verifier{Servers: o.Servers}, slots: make(chan struct{}, mostBodies), receivers: map[webhook.Key]*entry{}, paths: map[[sha256.Size]byte][]webhook.Key{}, changed: make(chan struct{}, 1),
		argoTries: rate.NewLimiter(triesFactor*perSecond, triesFactor*burst), argoPace: rate.NewLimiter(perSecond, burst),
	}
}

// readTimeout bounds the read of a Secret.
const readTimeout = 10 * time.Second

// retryToken is the pause before a Secret that is not there, or has no token, is read again, where the interval is not shorter.
const retryToken = 15 * time.Second

// Run keeps the Receivers until ctx ends, and answers meanwhile: until then Serve turns requests away. Without an address it only takes the finalizer of a controller that is
// gone off Receivers that are deleted.
func (h *Hooks) Run(ctx context.Context) error {
	h.leads.Store(true)
	defer h.leads.Store(false)
	var watches []live.Watch
	for _, namespace := range h.Namespaces.Each() {
		watches = append(watches, h.Watcher.Watch(ctx, live.Interest{GVK: h.Dialect.Kind(), Namespace: namespace, Depth: live.Full}, h.onReceiver))
	}
	for _, w := range watches {
		if err := live.AwaitListed(ctx, w, isAbsent); err != nil && ctx.Err() != nil {
			return nil
		}
	}
	rotations := h.newRotations()
	rotations.follow(ctx)
	h.refresh(ctx)
	h.knows.Store(true)
	defer h.knows.Store(false)
	pointed := h.startPointing(ctx)
	defer func() { <-pointed }()
	for {
		timer := time.NewTimer(h.untilNext())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-h.changed:
		case <-timer.C:
		}
		timer.Stop()
		h.guard("receivers", func() {
			rotations.follow(ctx)
			h.refresh(ctx)
		})
	}
}

// isAbsent reports whether there are no Receivers until the cluster is changed.
func isAbsent(err error) bool {
	return errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err)
}

// guard keeps a panic from ending more than one piece of work.
func (h *Hooks) guard(work string, do func()) {
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			h.Log.Error("panic", "work", work, "error", p.Value, "stack", p.Stack)
			h.Panics.CountPanic(work)
		}
	}()
	do()
}

func (h *Hooks) onReceiver(ev live.Event) {
	key := webhook.Key{Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.signalChange()
	was := h.receivers[key]
	if ev.Gone {
		delete(h.receivers, key)
		h.indexPaths()
		return
	}
	next := &entry{cr: ev.Object, receiver: h.Dialect.Receiver(ev.Object), pace: rate.NewLimiter(perSecond, burst)}
	if was != nil {
		next.pace = was.pace
		if was.receiver.Generation == next.receiver.Generation && was.receiver.Request == next.receiver.Request { // its status
			next.secret, next.path, next.missing, next.version, next.handled, next.due = was.secret, was.path, was.missing, was.version, was.handled, was.due
		}
	}
	h.receivers[key] = next
	h.indexPaths()
}

// signalChange has the Receivers be looked at by Run.
func (h *Hooks) signalChange() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// indexPaths makes paths those of the Receivers. The caller holds mu.
func (h *Hooks) indexPaths() {
	clear(h.paths)
	for key, e := range h.receivers {
		if e.path != "" {
			digest := sha256.Sum256([]byte(e.path))
			h.paths[digest] = append(h.paths[digest], key)
		}
	}
}

// untilNext is how long it is until a Secret is to be read again.
func (h *Hooks) untilNext() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := time.Hour
	for _, e := range h.receivers {
		next = min(next, time.Until(e.due))
	}
	return max(next, 10*time.Millisecond)
}

// refresh reads the tokens of the Receivers that are due, and writes statuses.
func (h *Hooks) refresh(ctx context.Context) {
	h.mu.Lock()
	var due []*entry
	for _, e := range h.receivers {
		if !time.Now().Before(e.due) {
			due = append(due, e)
		}
	}
	h.mu.Unlock()
	for _, e := range due {
		if !e.receiver.Deleting.IsZero() {
			h.replace(e, h.released(ctx, *e))
			continue
		}
		if h.Place.Listen == "" { // the Receiver is notification-controller's
			next := *e
			next.due = time.Now().Add(time.Hour)
			h.replace(e, next)
			continue
		}
		next := h.loaded(ctx, *e)
		if !h.replace(e, next) {
			continue // it is due again: the status would have a path that is not served
		}
		if err := h.writeStatus(ctx, next); err != nil && ctx.Err() == nil {
			h.Log.Warn("status", "kind", h.Dialect.Kind().Kind, "name", next.receiver.Key.String(), "error", err.Error())
			h.retry(next)
		}
	}
}

// replace puts an entry in the place of another, unless that is not the newest any more, and reports whether it did.
func (h *Hooks) replace(was *entry, next entry) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.receivers[next.receiver.Key] != was {
		return false
	}
	h.receivers[next.receiver.Key] = &next
	h.indexPaths()
	return true
}

// retry has a Receiver be read again soon, of which the status could not be written.
func (h *Hooks) retry(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.receivers[e.receiver.Key]; now != nil {
		next := *now
		next.due = time.Now().Add(min(retryToken, e.receiver.Interval))
		h.receivers[e.receiver.Key] = &next
	}
}

// loaded returns the entry with the token and the path that it has now.
func (h *Hooks) loaded(ctx context.Context, e entry) entry {
	e.handled, e.due = e.receiver.Request, time.Now().Add(e.receiver.Interval)
	if len(e.receiver.Problems) > 0 {
		e.secret, e.path, e.missing = webhook.Secret{}, "", ""
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	secret, version, err := h.readSecret(ctx, e.receiver)
	if err != nil {
		e.due = time.Now().Add(min(retryToken, e.receiver.Interval))
		if e.path == "" || errors.Is(err, errNoToken) {
			e.secret, e.path, e.missing, e.version = webhook.Secret{}, "", err.Error(), version
		}
		return e
	}
	e.secret, e.path, e.missing, e.version = secret, h.Dialect.WebhookPath(e.receiver.Key, secret.Token), "", version
	return e
}

// errNoToken is why a Receiver can take nothing, whatever it has taken before.
var errNoToken = errors.New("no token")

// readSecret returns what a Receiver's Secret says, and its resourceVersion; the latter also with errNoToken, empty for a Secret that is not there.
func (h *Hooks) readSecret(ctx context.Context, r webhook.Receiver) (out webhook.Secret, version string, err error) {
	keys := webhook.SecretKeys(r.Type)
	if len(keys) == 0 {
		return webhook.Secret{}, "", nil
	}
	name := r.Key.Namespace + "/" + r.Secret
	s, err := h.Live.Get(ctx, secretKind, tokenSecret(r))
	if errors.Is(err, live.ErrNotFound) {
		return webhook.Secret{}, "", fmt.Errorf("%w: Secret %s is not there: create it with the key token", errNoToken, name)
	}
	if err != nil {
		return webhook.Secret{}, "", fmt.Errorf("read Secret %s: %w", name, err)
	}
	fields := map[string]*string{"token": &out.Token, "email": &out.Email, "audience": &out.Audience}
	for _, key := range keys {
		text, _ := s.At("data", key).(string)
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(value) == 0 {
			return webhook.Secret{}, s.ResourceVersion(), fmt.Errorf("%w: Secret %s has no key %s", errNoToken, name, key)
		}
		*fields[key] = string(value)
	}
	return out, s.ResourceVersion(), nil
}
