package oci

import (
	"context"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// How long a trusted root of a public instance is used before a newer one is looked for, how soon it is tried again, and how long it may take.
const (
	rootIsNew     = 24 * time.Hour
	rootRetry     = time.Minute
	rootFetchTime = 20 * time.Second
)

// publicRoot is the newest trusted root of a public instance.
type publicRoot struct {
	turn   chan struct{} // held by the one that looks at the fields
	text   []byte
	tried  time.Time
	at     time.Time // when text was fetched
	failed error     // of the last fetch
}

// publicRoot returns the trusted root of the public instance. One that was fetched is used until a newer one can be.
func (s *Store) publicRoot(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	if s.root == nil {
		s.root = &publicRoot{turn: make(chan struct{}, 1)}
	}
	r := s.root
	s.mu.Unlock()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Since(r.at) >= rootIsNew && time.Since(r.tried) >= rootRetry {
		r.fetch(ctx, s)
	}
	if r.text == nil {
		return nil, r.failed
	}
	return r.text, nil
}

func (r *publicRoot) fetch(ctx context.Context, s *Store) {
	r.tried = time.Now()
	client, err := transport.NewClient(transport.Options{Servers: s.Servers})
	if err == nil {
		bounded, cancel := context.WithTimeoutCause(ctx, rootFetchTime, fmt.Errorf("no answer within %s", rootFetchTime))
		defer cancel()
		var text []byte
		if text, err = keyless.PublicRoot(bounded, client, s.Sigstore); err == nil {
			r.text, r.at, r.failed = text, time.Now(), nil
			return
		}
	}
	// Its cause is no answer of the registry, which another request might change.
	r.failed = transport.Failed(source.VerificationError, "%s; name a trusted_root.json in spec.verify.trustedRootSecretRef where that server cannot be reached", err)
}
