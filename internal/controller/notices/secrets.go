package notices

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

var secretKind = object.GVK{Version: "v1", Kind: "Secret"}

// rotations watch what the Providers that fail are read from, the Secrets and, of Argo CD's services, the ConfigMap: one that is changed ends the pause after a
// failure. They may be used concurrently.
type rotations struct {
	watcher   live.Watcher
	deliverer *deliver.Deliverer

	mu       sync.Mutex
	ctx      context.Context
	read     map[route.Key]map[object.ID]string // the resourceVersions, as the newest try has read them; empty for what is not there
	watching map[route.Key]context.CancelFunc
}

func newRotations(w live.Watcher, d *deliver.Deliverer) *rotations {
	return &rotations{watcher: w, deliverer: d, read: map[route.Key]map[object.ID]string{}, watching: map[route.Key]context.CancelFunc{}}
}

// start sets how long watches last at most.
func (r *rotations) start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
}

// noteRead notes what a try is made with.
func (r *rotations) noteRead(key route.Key, versions map[object.ID]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[key] = versions
}

// begin watches the metadata of what a Provider is read from whose newest try has failed, until end.
func (r *rotations) begin(key route.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watching[key] != nil || len(r.read[key]) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.watching[key] = cancel
	for id := range r.read[key] {
		i := live.Interest{GVK: object.GVK{Version: "v1", Kind: id.Kind}, Namespace: id.Namespace, Name: id.Name, Depth: live.Metadata}
		r.watcher.Watch(ctx, i, func(ev live.Event) { r.onChange(key, ev) })
	}
}

// end ends the watches of a Provider, if there are any.
func (r *rotations) end(key route.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.watching[key]; cancel != nil {
		cancel()
	}
	delete(r.watching, key)
	delete(r.read, key)
}

// onChange has a Provider be tried again that is read from another object than in the newest try.
func (r *rotations) onChange(key route.Key, ev live.Event) {
	version := ""
	if !ev.Gone {
		version = ev.Object.ResourceVersion()
	}
	r.mu.Lock()
	read, is := r.read[key][ev.ID]
	r.mu.Unlock()
	if is && read != version {
		r.deliverer.WakeChanged(key)
	}
}

// LoadProvider reads the Secrets that a Provider names, with the reader's rights.
func LoadProvider(ctx context.Context, reader live.Reader, p route.Provider) (deliver.Loaded, error) {
	out, _, err := loadProvider(ctx, reader, p)
	return out, err
}

// loadProvider is LoadProvider, and returns the resourceVersions of the Secrets; empty for one that is not there.
func loadProvider(ctx context.Context, reader live.Reader, p route.Provider) (out deliver.Loaded, versions map[object.ID]string, err error) {
	out, versions = deliver.Loaded{Provider: p}, map[object.ID]string{}
	for _, s := range []struct {
		name string
		data *map[string][]byte
	}{{p.Secret, &out.SecretData}, {p.Certificates, &out.CertificateData}, {p.ProxySecret, &out.ProxyData}} {
		if s.name == "" {
			continue
		}
		id := object.ID{Kind: secretKind.Kind, Namespace: p.Key.Namespace, Name: s.name}
		if *s.data, versions[id], err = readSecret(ctx, reader, id); err != nil {
			return out, versions, err
		}
	}
	return out, versions, nil
}

// readSecret returns the data of a Secret and its resourceVersion; nil and empty for one that is not there.
func readSecret(ctx context.Context, reader live.Reader, id object.ID) (content map[string][]byte, version string, err error) {
	s, err := reader.Get(ctx, secretKind, id)
	if errors.Is(err, live.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", id, err)
	}
	data, _ := s["data"].(map[string]any)
	out := make(map[string][]byte, len(data))
	for key, v := range data {
		text, _ := v.(string)
		if out[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, s.ResourceVersion(), fmt.Errorf("key %s of Secret %s/%s is not base64", key, id.Namespace, id.Name)
		}
	}
	return out, s.ResourceVersion(), nil
}
