package webhooks

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

var secretKind = object.GVK{Version: "v1", Kind: "Secret"}

// tokenSecret names the Secret of a Receiver.
func tokenSecret(r webhook.Receiver) object.ID {
	return object.ID{Kind: secretKind.Kind, Namespace: r.Key.Namespace, Name: r.Secret}
}

// rotations watch the metadata of the Secrets that Receivers name, each once: one that is changed or deleted counts at once, and not at the Receiver's next interval. One
// goroutine has them.
type rotations struct {
	hooks    *Hooks
	watching map[object.ID]context.CancelFunc
}

func (h *Hooks) newRotations() rotations {
	return rotations{h, map[object.ID]context.CancelFunc{}}
}

// follow begins the watches of Secrets that Receivers name now, until ctx ends, and ends those of others. It is called before Secrets are read: a watch shows what has changed since.
func (r rotations) follow(ctx context.Context) {
	named := r.hooks.namedSecrets()
	for id, end := range r.watching {
		if !named[id] {
			end()
			delete(r.watching, id)
		}
	}
	for id := range named {
		if r.watching[id] != nil {
			continue
		}
		watched, end := context.WithCancel(ctx)
		r.watching[id] = end
		r.hooks.Watcher.Watch(watched, live.Interest{GVK: secretKind, Namespace: id.Namespace, Name: id.Name, Depth: live.Metadata}, r.hooks.onSecret)
	}
}

// namedSecrets returns the Secrets by which webhooks are verified.
func (h *Hooks) namedSecrets() map[object.ID]bool {
	out := map[object.ID]bool{}
	if h.Place.Listen == "" {
		return out
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.receivers {
		if r := e.receiver; r.Secret != "" && len(r.Problems) == 0 && r.Deleting.IsZero() && len(webhook.SecretKeys(r.Type)) > 0 {
			out[tokenSecret(r)] = true
		}
	}
	return out
}

// onSecret has the Receivers be read again that have another state of a Secret.
func (h *Hooks) onSecret(ev live.Event) {
	version := ""
	if !ev.Gone {
		version = ev.Object.ResourceVersion()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, e := range h.receivers {
		if tokenSecret(e.receiver) != ev.ID || e.version == version {
			continue
		}
		next := *e
		next.due = time.Time{}
		h.receivers[key] = &next
		h.signalChange()
	}
}
