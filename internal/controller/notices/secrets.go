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

// rotations watch the Secrets of the Providers that fail: one that is changed ends the pause after a failure. They may be used concurrently.
type rotations struct {
	watcher   live.Watcher
	deliverer *deliver.Deliverer

	mu       sync.Mutex
	ctx      context.Context
	read     map[route.Key]map[string]string // the resourceVersions of the Secrets, by their names, as the newest try has read them
	watching map[route.Key]context.CancelFunc
}

func newRotations(w live.Watcher, d *deliver.Deliverer) *rotations {
	return &rotations{watcher: w, deliverer: d, read: map[route.Key]map[string]string{}, watching: map[route.Key]context.CancelFunc{}}
}

// start sets how long watches last at most.
func (r *rotations) start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
}

// noteRead notes which Secrets a try is made with.
func (r *rotations) noteRead(key route.Key, versions map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[key] = versions
}

// begin watches the metadata of the Secrets of a Provider whose newest try has failed, until end.
func (r *rotations) begin(key route.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watching[key] != nil || len(r.read[key]) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.watching[key] = cancel
	for name := range r.read[key] {
		i := live.Interest{GVK: secretKind, Namespace: key.Namespace, Name: name, Depth: live.Metadata}
		r.watcher.Watch(ctx, i, func(ev live.Event) { r.onSecret(key, ev) })
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

// onSecret has a Provider be tried again whose Secret is another one than that of the newest try.
func (r *rotations) onSecret(key route.Key, ev live.Event) {
	version := ""
	if !ev.Gone {
		version = ev.Object.ResourceVersion()
	}
	r.mu.Lock()
	read, is := r.read[key][ev.ID.Name]
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

// loadProvider is LoadProvider, and returns the resourceVersions of the Secrets by their names; empty for one that is not there.
func loadProvider(ctx context.Context, reader live.Reader, p route.Provider) (out deliver.Loaded, versions map[string]string, err error) {
	out, versions = deliver.Loaded{Provider: p}, map[string]string{}
	for _, s := range []struct {
		name string
		data *map[string][]byte
	}{{p.Secret, &out.SecretData}, {p.Certificates, &out.CertificateData}, {p.ProxySecret, &out.ProxyData}} {
		if s.name == "" {
			continue
		}
		if *s.data, versions[s.name], err = readSecret(ctx, reader, p.Key.Namespace, s.name); err != nil {
			return out, versions, err
		}
	}
	return out, versions, nil
}

// readSecret returns the data of a Secret and its resourceVersion; nil and empty for one that is not there.
func readSecret(ctx context.Context, reader live.Reader, namespace, name string) (content map[string][]byte, version string, err error) {
	s, err := reader.Get(ctx, secretKind, object.ID{Kind: "Secret", Namespace: namespace, Name: name})
	if errors.Is(err, live.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	data, _ := s["data"].(map[string]any)
	out := make(map[string][]byte, len(data))
	for key, v := range data {
		text, _ := v.(string)
		if out[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, s.ResourceVersion(), fmt.Errorf("key %s of Secret %s/%s is not base64", key, namespace, name)
		}
	}
	return out, s.ResourceVersion(), nil
}
