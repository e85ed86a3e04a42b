package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// argoPath is where Argo CD takes webhooks.
const argoPath = "/api/webhook"

// secretsAge is how long what was read of argocd-secret serves.
const secretsAge = 10 * time.Second

// pushed answers a request that Argo CD would take: the sources of what was pushed are fetched, whichever Application reads them.
func (h *Hooks) pushed(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	if !h.argoTries.Allow() {
		tooMany.write(w)
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
	case !h.argoPace.Allow():
		return tooMany
	}
	requested := h.Work.RequestPushed(p)
	h.Log.Info("webhook", "path", argoPath, "requested", requested)
	return answer{http.StatusOK, fmt.Sprintf("requested: %d", requested)}
}

// argoSecrets returns the secrets of webhooks, by the keys of argocd-secret, and whether that is there: without Argo CD's Secret nothing is taken.
func (h *Hooks) argoSecrets(ctx context.Context) (map[string]string, bool, error) {
	h.argoTurn.Lock()
	defer h.argoTurn.Unlock()
	if time.Since(h.argoRead) < secretsAge {
		return h.argo, h.argo != nil, nil
	}
	namespace := project.ArgoNamespace
	if h.Namespaces.Limited() {
		namespace = h.Namespaces.Each()[0]
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s, err := h.Live.Get(ctx, object.GVK{Version: "v1", Kind: "Secret"}, object.ID{Kind: "Secret", Namespace: namespace, Name: "argocd-secret"})
	if err != nil && !errors.Is(err, live.ErrNotFound) {
		return nil, false, fmt.Errorf("read Secret %s/argocd-secret: %w", namespace, err)
	}
	if err != nil {
		h.argo, h.argoRead = nil, time.Now()
		return nil, false, nil
	}
	next, err := h.resolveAll(ctx, namespace, textsOf(s))
	if err != nil {
		return nil, false, err
	}
	h.argo, h.argoRead = next, time.Now()
	return h.argo, true, nil
}

// textsOf returns the data of a Secret.
func textsOf(s object.Object) map[string]string {
	out := map[string]string{}
	data, _ := s.At("data").(map[string]any)
	for key, v := range data {
		text, _ := v.(string)
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[key] = string(value)
		}
	}
	return out
}

// argoReference is the form of a value of argocd-secret that stands for another one: $KEY for one of its own, $NAME:KEY for one of another Secret. What has another form is a
// secret that begins with a dollar sign.
var argoReference = pattern.OnDemand(`^\$([-.\w]+:)?[-.\w]+$`)

// resolveAll returns the keys of webhooks of argocd-secret, with the values for which references stand. A reference that leads nowhere becomes a secret that no sender has: an empty
// one would take every request.
func (h *Hooks) resolveAll(ctx context.Context, namespace string, data map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for key, value := range data {
		if !strings.HasPrefix(key, "webhook.") {
			continue
		}
		if out[key] = value; !argoReference().MatchString(value) {
			continue
		}
		resolved, err := h.resolve(ctx, namespace, value[1:], data)
		var wrong wrongReferenceError
		switch {
		case errors.As(err, &wrong):
			h.Log.Warn("webhooks of this server are refused: its secret is a reference that leads nowhere", "secret", namespace+"/argocd-secret", "key", key, "error", err.Error())
			resolved = rand.Text()
		case err != nil:
			return nil, err
		}
		out[key] = resolved
	}
	return out, nil
}

// wrongReferenceError says why a reference leads nowhere. It is in the log, and the reference may be a secret that looks like one: its key is not in the text where no Secret has it.
type wrongReferenceError string

func (e wrongReferenceError) Error() string { return string(e) }

// resolve returns the value for which a reference stands: KEY is one of argocd-secret, NAME:KEY one of a Secret of Argo CD's namespace that has Argo CD's label.
func (h *Hooks) resolve(ctx context.Context, namespace, reference string, own map[string]string) (string, error) {
	name, key, isOther := strings.Cut(reference, ":")
	if !isOther {
		if value := strings.TrimSpace(own[reference]); value != "" {
			return value, nil
		}
		return "", wrongReferenceError("argocd-secret has no such key")
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", wrongReferenceError("no Secret can have its name")
	}
	id := object.ID{Kind: "Secret", Namespace: namespace, Name: name}
	s, err := h.Live.Get(ctx, object.GVK{Version: "v1", Kind: "Secret"}, id)
	switch {
	case errors.Is(err, live.ErrNotFound):
		return "", wrongReferenceError("Secret " + namespace + "/" + name + " is not there")
	case apierrors.IsForbidden(err):
		return "", wrongReferenceError("truce may not read Secret " + namespace + "/" + name)
	case err != nil:
		return "", fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	case s.At("metadata", "labels", "app.kubernetes.io/part-of") != "argocd":
		return "", wrongReferenceError("Secret " + namespace + "/" + name + " has no label app.kubernetes.io/part-of: argocd")
	}
	if value := strings.TrimSpace(textsOf(s)[key]); value != "" {
		return value, nil
	}
	return "", wrongReferenceError("Secret " + namespace + "/" + name + " has no key " + key)
}
