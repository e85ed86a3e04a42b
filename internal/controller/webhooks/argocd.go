package webhooks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// argoPath is where Argo CD takes webhooks.
const argoPath = "/api/webhook"

// argoNamespace is where Argo CD's Secret is in a cluster that truce works for as a whole.
const argoNamespace = "argocd"

// secretsAge is how long what was read of argocd-secret serves.
const secretsAge = 10 * time.Second

// pushed answers a request that Argo CD would take: the sources of what was pushed are fetched, whichever Application reads them.
func (h *Hooks) pushed(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	if !h.argoPace.Allow() {
		answer{http.StatusTooManyRequests, "too many webhooks"}.write(w)
		return
	}
	secrets, there, err := h.argoSecrets(r.Context())
	switch {
	case err != nil:
		h.Log.Warn("webhook", "path", argoPath, "error", err.Error())
		answer{http.StatusServiceUnavailable, "the secrets of webhooks cannot be read now"}.write(w)
		return
	case !there:
		http.NotFound(w, r)
		return
	}
	body, failed := h.body(w, r)
	if failed != (answer{}) {
		failed.write(w)
		return
	}
	h.takePush(r.Header, body, secrets).write(w)
}

func (h *Hooks) takePush(header http.Header, body []byte, secrets map[string]string) answer {
	p, err := webhook.ReadPush(header, body, secrets)
	switch {
	case errors.Is(err, webhook.ErrUnverified):
		h.Log.Warn("webhook refused", "path", argoPath, "error", err.Error())
		return answer{http.StatusUnauthorized, err.Error()}
	case err != nil:
		return answer{http.StatusBadRequest, err.Error()}
	}
	requested := h.Work.RequestPushed(p)
	h.Log.Info("webhook", "path", argoPath, "requested", requested)
	return answer{http.StatusOK, fmt.Sprintf("requested: %d", requested)}
}

// argoSecrets returns the data of argocd-secret, and whether there is one: without Argo CD's Secret nothing is taken.
func (h *Hooks) argoSecrets(ctx context.Context) (map[string]string, bool, error) {
	h.argoTurn.Lock()
	defer h.argoTurn.Unlock()
	if time.Since(h.argoRead) < secretsAge {
		return h.argo, h.argo != nil, nil
	}
	namespace := argoNamespace
	if h.Namespaces.Limited() {
		namespace = h.Namespaces.Each()[0]
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s, err := h.Live.Get(ctx, object.GVK{Version: "v1", Kind: "Secret"}, object.ID{Kind: "Secret", Namespace: namespace, Name: "argocd-secret"})
	if err != nil && !errors.Is(err, live.ErrNotFound) {
		return nil, false, fmt.Errorf("read Secret %s/argocd-secret: %w", namespace, err)
	}
	h.argo, h.argoRead = nil, time.Now()
	if err != nil {
		return nil, false, nil
	}
	h.argo = map[string]string{}
	data, _ := s.At("data").(map[string]any)
	for key, v := range data {
		text, _ := v.(string)
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			h.argo[key] = string(value)
		}
	}
	return h.argo, true, nil
}
