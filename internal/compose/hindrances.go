package compose

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/model/object"
)

// keyWaits is what a controller writes down of why it does not work; after it, with a dot, the namespace that this is about, if not all.
const keyWaits = "waits"

// hindrances are why this truce does not work, by namespace; "" for all.
type hindrances struct {
	log *slog.Logger

	mu   sync.Mutex
	why  map[string]string
	news chan struct{}
}

func newHindrances(log *slog.Logger) *hindrances {
	return &hindrances{log: log, why: map[string]string{}, news: make(chan struct{}, 1)}
}

// tell takes note of a hindrance; "" is that it is over.
func (h *hindrances) tell(namespace, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why[namespace] == why {
		return
	}
	if why == "" {
		delete(h.why, namespace)
	} else {
		h.why[namespace] = why
		h.log.Warn("hindered", "why", why)
	}
	poke(h.news)
}

// all is tell for what concerns all namespaces.
func (h *hindrances) all(why string) { h.tell("", why) }

// data is what is written down of it.
func (h *hindrances) data() map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]any{}
	for namespace, why := range h.why {
		out[waitsKey(namespace)] = why
	}
	return out
}

// text is all of it in the order of the namespaces; "" for nothing.
func (h *hindrances) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, namespace := range slices.Sorted(maps.Keys(h.why)) {
		out = append(out, h.why[namespace])
	}
	return strings.Join(out, "; ")
}

func waitsKey(namespace string) string {
	if namespace == "" {
		return keyWaits
	}
	return keyWaits + "." + namespace
}

// hindered is why a controller does not work for a namespace, as it has written down; "" where it does.
func hindered(published object.Object, namespace string) string {
	for _, key := range []string{waitsKey(""), waitsKey(namespace)} {
		if why := text(published, "data", key); why != "" {
			return why
		}
	}
	return ""
}

// working leaves out controllers that do not work for a namespace, where others do.
func working(published []object.Object, namespace string) []object.Object {
	at := slices.DeleteFunc(slices.Clone(published), func(o object.Object) bool { return hindered(o, namespace) != "" })
	if len(at) == 0 {
		return published
	}
	return at
}
