package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/generate"
)

// generated makes the artifact of an ExternalArtifact of what its ArtifactGenerator names now, as the controller does; false for one that another
// controller has made, which has a URL. above are the sources that are made of it.
func (c *Cluster) generated(ctx context.Context, s dialect.Source, external object.Object, above []app.SourceKey) (source.Artifact, bool, error) {
	none := source.Artifact{}
	if s.Maker == (app.SourceKey{}) || external.StringAt("status", "artifact", "url") != "" {
		return none, false, nil
	}
	f, cr, err := c.sourceResource(ctx, s.Maker, nil)
	if err != nil {
		return none, true, fmt.Errorf("%s: %w", s.Key, err)
	}
	maker := f.Source(cr)
	switch {
	case cr.UID() != s.MakerUID || maker.Other != "":
		return none, false, nil
	case len(maker.Problems) > 0:
		return none, true, fmt.Errorf("%s: %s: %s", s.Maker, maker.Problems[0].Field, maker.Problems[0].Reason)
	case slices.Contains(above, s.Key):
		return none, true, fmt.Errorf("%s is made of itself, by %v", s.Key, above)
	}
	above = append(slices.Clip(above), s.Key)
	from := map[string]source.Artifact{}
	for _, in := range maker.Recipe.Sources {
		if from[in.Alias], _, err = c.fetchBelow(ctx, in.From, nil, above); err != nil {
			return none, true, fmt.Errorf("%s: source %s: %w", s.Maker, in.Alias, err)
		}
	}
	made, err := generate.Builder{Packs: c.packs}.Build(ctx, *maker.Recipe, from)
	if err != nil {
		return none, true, fmt.Errorf("%s: %w", s.Maker, err)
	}
	named, ok := made.Named(s.Key.Name)
	if !ok {
		return none, true, fmt.Errorf("%s makes no artifact of the name %s", s.Maker, s.Key.Name)
	}
	return named.Artifact, true, nil
}
