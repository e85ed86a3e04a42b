package reconcile

import (
	"context"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Scale asks where objects of a type keep the count that their scale subresource writes; empty for .spec.replicas. It may be called
// concurrently. An answer that cannot be had is an error, since a claim on the wrong field would be
// none; apply.ErrForbidden: who asks may not know.
type Scale func(context.Context, object.GVK) (field.Path, error)

// scalePaths remembers the answers until a CRD changes.
type scalePaths struct {
	mu    sync.Mutex
	epoch int // of changes
	known map[object.GVK]field.Path
}

func (s *scalePaths) of(ctx context.Context, ask Scale, gvk object.GVK) (field.Path, error) {
	if ask == nil || !strings.Contains(gvk.Group, ".") { // groups without a dot are Kubernetes' own
		return nil, nil
	}
	s.mu.Lock()
	p, ok := s.known[gvk]
	epoch := s.epoch
	s.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := ask(ctx, gvk)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == epoch {
		if s.known == nil {
			s.known = map[object.GVK]field.Path{}
		}
		s.known[gvk] = p
	}
	return p, nil
}

func (s *scalePaths) forget(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	for gvk := range s.known {
		if gvk.Group == group {
			delete(s.known, gvk)
		}
	}
}

// OnCRDChanged says that a CRD of an API group has changed: what was learnt from it is asked for again.
func (e *Engine) OnCRDChanged(group string) { e.scales.forget(group) }
