package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// include puts the files of other sources into an artifact, as the controller does. It fetches them as they are now.
func (c *Cluster) include(ctx context.Context, s dialect.Source, spec source.Spec, own source.Artifact) (source.Artifact, error) {
	return c.includeBelow(ctx, s, spec, own, nil)
}

func (c *Cluster) includeBelow(ctx context.Context, s dialect.Source, spec source.Spec, own source.Artifact, above []app.SourceKey) (source.Artifact, error) {
	if len(s.Includes) == 0 {
		return own, nil
	}
	above = append(slices.Clip(above), s.Key)
	var parts []tree.Part
	for _, in := range s.Includes {
		key := app.SourceKey{Kind: s.Key.Kind, Namespace: s.Key.Namespace, Name: in.Name}
		if slices.Contains(above, key) {
			return source.Artifact{}, fmt.Errorf("%s includes itself, by %v", key, above)
		}
		f, cr, err := c.sourceResource(ctx, key, nil)
		if err != nil {
			return source.Artifact{}, fmt.Errorf("%s includes what cannot be read: %w", s.Key, err)
		}
		below, err := c.spec(ctx, f, cr, key)
		if err != nil {
			return source.Artifact{}, fmt.Errorf("%s: %w", key, err)
		}
		artifact, err := c.fetcher.Fetch(ctx, below)
		if err == nil {
			artifact, err = c.includeBelow(ctx, f.Source(cr), below, artifact, above)
		}
		if err != nil {
			return source.Artifact{}, fmt.Errorf("%s: %w", key, err)
		}
		parts = append(parts, tree.Part{Name: key.String(), Artifact: artifact, From: in.From, To: in.To})
	}
	return tree.Combine(ctx, own, parts, tree.Rules{Ignore: spec.Ignore, Limits: spec.Limits})
}
