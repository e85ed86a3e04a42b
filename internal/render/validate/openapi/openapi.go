// Package openapi answers: which schema does the server publish for a kind?
//
// In: a cluster connection; kinds.
// Out: schemas that check objects, of built-in kinds and custom resources alike.
// Promise: one document for each group and version is read when it is first needed, and again only when the server says that it has changed.
// Not here: what is done about a problem (validate, reconcile).
package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/validate"
	"golang.org/x/sync/singleflight"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// cacheTime is how long the list of documents is believed: a CRD that has just changed is seen after it.
const cacheTime = 2 * time.Second

// Schemas reads schemas from /openapi/v3 (KEP-2896). The zero Schemas with a Cluster works.
type Schemas struct {
	Cluster *cluster.Client

	asking singleflight.Group // by path; "" is the list of documents

	mu    sync.Mutex // never held while the server is asked
	paths map[string]openapi.GroupVersionWithContext
	asked time.Time
	docs  map[string]*document // by path
}

var _ validate.Schemas = (*Schemas)(nil)

// Schema returns the schema of a kind.
func (s *Schemas) Schema(ctx context.Context, gvk object.GVK) (validate.Schema, error) {
	d, err := s.document(ctx, gvk)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", gvk, err)
	}
	return d.schema(gvk)
}

func (s *Schemas) document(ctx context.Context, gvk object.GVK) (*document, error) {
	paths, err := s.listed(ctx)
	if err != nil {
		return nil, err
	}
	path := "apis/" + gvk.APIVersion()
	if gvk.Group == "" {
		path = "api/" + gvk.Version
	}
	at, ok := paths[path]
	if !ok {
		return nil, validate.ErrUnknownKind
	}
	s.mu.Lock()
	known := s.docs[path]
	s.mu.Unlock()
	if known != nil && known.url == at.ServerRelativeURL() {
		return known, nil
	}
	return askOnce(ctx, &s.asking, path, func(ctx context.Context) (*document, error) {
		d, err := readDocument(ctx, at)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.docs == nil {
			s.docs = map[string]*document{}
		}
		s.docs[path] = d
		return d, nil
	})
}

// listed returns the documents that the server has, by their paths.
func (s *Schemas) listed(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	s.mu.Lock()
	paths, asked := s.paths, s.asked
	s.mu.Unlock()
	if time.Since(asked) <= cacheTime {
		return paths, nil
	}
	return askOnce(ctx, &s.asking, "", func(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
		paths, err := s.Cluster.Schemas().PathsWithContext(ctx)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.paths, s.asked = paths, time.Now()
		return paths, nil
	})
}

// askOnce answers all that ask for the same at the same time with one answer. Each waits no longer than its own context says, which does not end the question.
func askOnce[T any](ctx context.Context, asking *singleflight.Group, what string, ask func(context.Context) (T, error)) (T, error) {
	answer := asking.DoChan(what, func() (any, error) { return ask(context.WithoutCancel(ctx)) })
	var none T
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case r := <-answer:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(T), nil
	}
}

func readDocument(ctx context.Context, at openapi.GroupVersionWithContext) (*document, error) {
	text, err := at.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return nil, err
	}
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	d.url = at.ServerRelativeURL()
	return d, nil
}

// document is the part of an OpenAPI document that describes objects. Schemas are kept as text until they are used.
type document struct {
	url   string // bears the hash of the content
	kinds map[object.GVK]string

	mu     sync.Mutex
	texts  map[string]json.RawMessage
	parsed map[string]*spec.Schema
}

func newDocument(text []byte) (*document, error) {
	var whole struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("parse OpenAPI: %w", err)
	}
	d := &document{kinds: map[object.GVK]string{}, texts: whole.Components.Schemas, parsed: map[string]*spec.Schema{}}
	for name, schema := range d.texts {
		var named struct {
			Kinds []object.GVK `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(schema, &named); err != nil {
			return nil, fmt.Errorf("parse OpenAPI: %s: %w", name, err)
		}
		for _, gvk := range named.Kinds {
			d.kinds[gvk] = name
		}
	}
	return d, nil
}

// component returns a named schema.
func (d *document) component(name string) (*spec.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.parsed[name]; ok {
		return s, nil
	}
	text, ok := d.texts[name]
	if !ok {
		return nil, fmt.Errorf("the schema %s is not in its document", name)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("parse schema %s: %w", name, err)
	}
	d.parsed[name] = s
	delete(d.texts, name)
	return s, nil
}

func (d *document) schema(gvk object.GVK) (validate.Schema, error) {
	name, ok := d.kinds[gvk]
	if !ok {
		return nil, fmt.Errorf("%s: %w", gvk, validate.ErrUnknownKind)
	}
	return kind{doc: d, name: name}, nil
}
