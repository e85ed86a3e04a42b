package view

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	sourcetree "github.com/truce-gitops/truce/internal/source/tree"
)

// localFiles are files of this machine in the place of those of a source, and the path in them that is looked at.
type localFiles struct {
	preview  Preview
	artifact source.Artifact
	path     string
}

// localPart returns the index of the one of several sources that the preview's files are in the place of: the one that is named; else the only
// repository among charts of Helm repositories; else the only one that is rendered, where all are of one repository.
func (p Preview) localPart(a app.App) (int, error) {
	if p.Position != 0 {
		n := p.Position - 1
		switch {
		case n < 0 || n >= len(a.Parts):
			return 0, exit.WithCode(exit.Usage, fmt.Errorf("%s has %d sources: %d is the position of none", a.Key, len(a.Parts), p.Position))
		case a.Parts[n].IsPackaged:
			return 0, exit.WithCode(exit.Usage, fmt.Errorf("%s: %s is a chart of a repository, which has no directory", a.Key, a.Parts[n].Field))
		}
		return n, nil
	}
	var repositories, rendered []int
	places, described := map[app.SourceKey]bool{}, []string{}
	for i, part := range a.Parts {
		if part.IsPackaged {
			continue
		}
		repositories, places[part.Source] = append(repositories, i), true
		described = append(described, fmt.Sprintf("%d for %s", i+1, part.Source.Name))
		if !part.FilesOnly {
			rendered = append(rendered, i)
		}
	}
	switch {
	case len(repositories) == 1:
		return repositories[0], nil
	case len(places) == 1 && len(rendered) == 1:
		return rendered[0], nil
	case len(repositories) == 0:
		return 0, exit.WithCode(exit.Usage, fmt.Errorf("%s has charts of repositories alone, which have no directory", a.Key))
	}
	return 0, exit.WithCode(exit.Usage, fmt.Errorf("%s has several sources: say with --source-positions which of them the directory is in the place of (%s)", a.Key, strings.Join(described, ", ")))
}

// previewedPart brings the files of several sources, of which one is replaced by local files; and with it all that are of the same repository and
// revision. A source that is rendered is read where the local files are looked at, and files of one that is not are where they are named.
func (c *Cluster) previewedPart(ctx context.Context, a *app.App, cr object.Object, l localFiles) (source.Artifact, error) {
	n, err := l.preview.localPart(*a)
	if err != nil {
		return source.Artifact{}, err
	}
	a.Parts = slices.Clone(a.Parts)
	if part := &a.Parts[n]; !part.FilesOnly {
		part.Path = path.Join(part.Dir, l.path)
	}
	l.artifact.Revision = strings.ReplaceAll(localRevision, " ", "-") // the revisions of all have spaces between
	l.artifact.Commit = l.artifact.Revision
	var all []source.Artifact
	var dirs []string
	for _, part := range a.Parts {
		artifact := l.artifact
		if part.Source != a.Parts[n].Source {
			if artifact, err = c.fetch(ctx, a.OfPart(part), cr); err != nil {
				return source.Artifact{}, part.Fault(err)
			}
		}
		all, dirs = append(all, artifact), append(dirs, part.Dir)
	}
	return sourcetree.JoinArtifacts(dirs, all)
}
