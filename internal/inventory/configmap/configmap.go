// Package configmap answers: where is the record of what we put there?
//
// In: records.
// Out: one ConfigMap for each app, in the app's namespace.
// Promise: one write for each Save that changes something, none for others; a change by somebody else is an error, and read anew.
// Not here: what is in a record (inventory).
package configmap

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/inventory"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Label is on every ConfigMap that holds a record.
const Label = "truce.dev/inventory"

const (
	plainKey  = "inventory.json"
	zippedKey = "inventory.json.gz"
	zipAt     = 64 << 10 // larger records are compressed
	maxBytes  = 1 << 20  // of a ConfigMap
)

var resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Store keeps records in ConfigMaps. The zero Store with a Cluster works.
type Store struct {
	Cluster *cluster.Client

	mu   sync.Mutex
	seen map[app.Key]version
}

// version is what was last read or written.
type version struct {
	resourceVersion string // empty: there is none
	sum             [sha256.Size]byte
}

var _ inventory.Store = (*Store)(nil)

// Load reads a record.
func (s *Store) Load(ctx context.Context, key app.Key) (inventory.Record, error) {
	u, err := s.Cluster.Dynamic().Resource(resource).Namespace(key.Namespace).Get(ctx, name(key), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.remember(key, version{})
		return inventory.Record{App: key}, nil
	}
	if err != nil {
		return inventory.Record{}, fmt.Errorf("load inventory of %s: %w", key, err)
	}
	text, err := content(u)
	if err != nil {
		return inventory.Record{}, fmt.Errorf("load inventory of %s from ConfigMap %s: %w", key, name(key), err)
	}
	r, err := inventory.Parse(text)
	if err != nil {
		return inventory.Record{}, fmt.Errorf("load inventory of %s from ConfigMap %s: %w", key, name(key), err)
	}
	if r.App != key {
		return inventory.Record{}, fmt.Errorf("load inventory of %s: ConfigMap %s is the record of %s", key, name(key), r.App)
	}
	s.remember(key, version{u.GetResourceVersion(), sha256.Sum256(text)})
	return r, nil
}

// Save writes a record.
func (s *Store) Save(ctx context.Context, r inventory.Record) error {
	text, err := inventory.Print(r)
	if err != nil {
		return err
	}
	was := s.recall(r.App)
	sum := sha256.Sum256(text)
	if was.resourceVersion != "" && was.sum == sum {
		return nil
	}
	u, err := configMap(r.App, text, was.resourceVersion)
	if err != nil {
		return fmt.Errorf("save inventory of %s: %w", r.App, err)
	}
	maps := s.Cluster.Dynamic().Resource(resource).Namespace(r.App.Namespace)
	var saved *unstructured.Unstructured
	if was.resourceVersion == "" {
		saved, err = maps.Create(ctx, u, metav1.CreateOptions{FieldManager: "truce-controller"})
	} else {
		saved, err = maps.Update(ctx, u, metav1.UpdateOptions{FieldManager: "truce-controller"})
	}
	if err != nil {
		return fmt.Errorf("save inventory of %s: %w", r.App, err)
	}
	s.remember(r.App, version{saved.GetResourceVersion(), sum})
	return nil
}

// Delete removes a record.
func (s *Store) Delete(ctx context.Context, key app.Key) error {
	err := s.Cluster.Dynamic().Resource(resource).Namespace(key.Namespace).Delete(ctx, name(key), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete inventory of %s: %w", key, err)
	}
	s.remember(key, version{})
	return nil
}

func (s *Store) remember(key app.Key, v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[app.Key]version{}
	}
	s.seen[key] = v
}

func (s *Store) recall(key app.Key) version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[key]
}

// maxName is the longest name of an object.
const maxName = 253

func name(key app.Key) string {
	s := "truce-inventory-" + strings.ToLower(key.Kind) + "-" + key.Name
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return s[:maxName-17] + "-" + hex.EncodeToString(sum[:8])
}

func configMap(key app.Key, text []byte, resourceVersion string) (*unstructured.Unstructured, error) {
	meta := map[string]any{"name": name(key), "namespace": key.Namespace, "labels": map[string]any{Label: "true"}}
	if resourceVersion != "" {
		meta["resourceVersion"] = resourceVersion
	}
	o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
	if len(text) <= zipAt {
		o["data"] = map[string]any{plainKey: string(text)}
		return &unstructured.Unstructured{Object: o}, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	packed := base64.StdEncoding.EncodeToString(b.Bytes())
	if len(packed) > maxBytes {
		return nil, fmt.Errorf("%d bytes compressed, a ConfigMap holds %d: split the app", len(packed), maxBytes)
	}
	o["binaryData"] = map[string]any{zippedKey: packed}
	return &unstructured.Unstructured{Object: o}, nil
}

func content(u *unstructured.Unstructured) ([]byte, error) {
	if text, ok, _ := unstructured.NestedString(u.Object, "data", plainKey); ok {
		return []byte(text), nil
	}
	packed, ok, _ := unstructured.NestedString(u.Object, "binaryData", zippedKey)
	if !ok {
		return nil, fmt.Errorf("neither %s nor %s is in it", plainKey, zippedKey)
	}
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const most = 64 << 20 // a record that unpacks to more was not written by us
	text, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return nil, err
	}
	return text, z.Close()
}
