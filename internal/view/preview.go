package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source"
)

// Preview says which files an app is looked at with, instead of those of its source. Its zero value is those.
type Preview struct {
	// Dir is a directory of this machine in the place of the app's path. What it refers to is found in its git repository.
	Dir string
	// Position, which begins at 1, is that of the one of several sources that Dir is in the place of; 0 for the only one that it can be.
	Position int
	// Revision of the source: a branch, tag, commit or range of versions.
	Revision string
	// Version of the chart of a HelmRepository, or a range of versions.
	Version string
	// Revisions are those of some of several sources: the position of each, which begins at 1, an equals sign and the revision, with spaces between.
	Revisions string
	// Values is a file of this machine with values that are laid over those of a HelmRelease.
	Values string
	// File is a file of this machine with the app's custom resource, in the place of the cluster's.
	File string
	// Custom is the custom resource itself, in the place of the cluster's; nil for none.
	Custom object.Object
	// Ignore has lines of patterns, as .sourceignore has: files in Dir that they match are left out.
	Ignore string
	// Sources are directories of this machine in the place of sources, by Kind/namespace/name.
	Sources map[string]string
	// Strict refuses variables that have neither a value nor a default where no cluster is asked for their values.
	Strict bool
	// Members says that Kustomizations among the objects are looked at, too.
	Members bool
}

// IsZero reports whether nothing else is looked at than what the app follows.
func (p Preview) IsZero() bool { return reflect.ValueOf(p).IsZero() }

// localRevision is what the files of this machine are called in the place of a revision.
const localRevision = "local files"

// Preview is Inspect with other files than those that the app follows, and of its members where p asks for them.
func (c *Cluster) Preview(ctx context.Context, key app.Key, p Preview) ([]Detail, error) {
	var out []Detail
	err := EachMember(Member{key, p}, func(m Member) ([]Member, error) {
		d, err := c.inspect(ctx, m.Key, m.Preview)
		out = append(out, d)
		if err != nil || !p.Members {
			return nil, err
		}
		a, objects, err := c.build(ctx, m.Key, m.Preview)
		if err != nil {
			return nil, exit.WithCode(exit.Render, err)
		}
		return m.Members(a, objects)
	})
	return out, err
}

// Build returns the objects that files describe through an app's spec, in the order in which they are applied, as a run would send them, and
// those of its members where p asks for them. Values of Secrets, and those that come from one, are masked.
func (c *Cluster) Build(ctx context.Context, key app.Key, p Preview) ([]redact.Shown, error) {
	var out []redact.Shown
	err := EachMember(Member{key, p}, func(m Member) ([]Member, error) {
		a, objects, err := c.build(ctx, m.Key, m.Preview)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			out = append(out, c.maskedContent(o))
		}
		return m.Members(a, objects)
	})
	return out, err
}

// build returns an app, and the objects that its files describe.
func (c *Cluster) build(ctx context.Context, key app.Key, p Preview) (app.App, []desired.Object, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return app.App{}, nil, err
	}
	cr, err := c.customResource(ctx, gvk, key, p)
	if err != nil {
		return app.App{}, nil, err
	}
	how, err := c.process(ctx, key)
	if err != nil {
		return app.App{}, nil, err
	}
	a := c.app(ctx, how, translate, cr)
	if len(a.Problems) > 0 {
		return a, nil, exit.WithCode(exit.Usage, fmt.Errorf("%s: %s", key, a.Problems[0]))
	}
	if err := errors.Join(p.fits(a), p.layValues(&a)); err != nil {
		return a, nil, err
	}
	looked := a
	artifact, end, err := c.previewed(ctx, &looked, cr, p)
	if err != nil {
		return a, nil, exit.WithCode(exit.Render, err)
	}
	defer end()
	set, err := c.settled(ctx, artifact, looked)
	return a, set.Objects, exit.WithCode(exit.Render, err)
}

// leftOut says what a preview of local files lacks of the source: what it includes, and what it ignores.
func (c *Cluster) leftOut(ctx context.Context, a app.App, cr object.Object, p Preview) []string {
	if p.Dir == "" || len(a.Parts) > 0 || refusal(a) != nil {
		return nil
	}
	f, of, err := c.sourceResource(ctx, a.Source, cr)
	if err != nil {
		return []string{"whether the source includes others or ignores files is not known: " + redact.MaskText(err.Error())}
	}
	var out []string
	if below := filepath.Join(p.Dir, filepath.FromSlash(a.Path)); below != filepath.Clean(p.Dir) && isDirectory(below) {
		out = append(out, fmt.Sprintf("--path %s takes the place of the app's own path, and has that in it: for this app alone it is --path %s", p.Dir, below))
	}
	if len(f.Source(of).Includes) > 0 {
		out = append(out, fmt.Sprintf("%s includes other sources (spec.include), whose files a preview of local files does not have", a.Source))
	}
	if of.StringAt("spec", "ignore") != "" {
		out = append(out, fmt.Sprintf("%s ignores files (spec.ignore), which a preview of local files reads", a.Source))
	}
	return out
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maskedContent is what Git describes of an object, as a person may see it.
func (c *Cluster) maskedContent(o desired.Object) redact.Shown {
	out, _ := c.engine.Mask.With(o.Sensitive).Object(o.Data)
	return out
}

// fits returns an error for what is not possible for an app with several sources, or with one.
func (p Preview) fits(a app.App) error {
	many, why := len(a.Parts) > 0, ""
	switch {
	case many && p.Dir != "":
		_, err := p.localPart(a)
		return err
	case p.Position != 0:
		why = "has one source: want --path without --source-positions"
	case many && p.Revision != "":
		why = "has several sources: want --revisions with --source-positions"
	case !many && p.Revisions != "":
		why = "has one source: want --revision"
	case p.Version != "" && a.Source.Chart == "":
		why = "names no chart of a repository by its version: want --revision"
	case p.Revision != "" && a.Source.Chart != "":
		why = "names a chart of a repository: want --version"
	default:
		_, err := p.atRevisions(a)
		return err
	}
	return exit.WithCode(exit.Usage, fmt.Errorf("%s %s", a.Key, why))
}

// atRevisions is an app with several sources at those of the preview.
func (p Preview) atRevisions(a app.App) (app.App, error) {
	revisions := make([]string, len(a.Parts))
	for _, one := range strings.Fields(p.Revisions) {
		position, revision, _ := strings.Cut(one, "=")
		n, err := strconv.Atoi(position)
		if err != nil || n < 1 || n > len(revisions) {
			return a, exit.WithCode(exit.Usage, fmt.Errorf("%s has %d sources: %s is the position of none", a.Key, len(revisions), position))
		}
		revisions[n-1] = revision
	}
	return a.WithRevisions(revisions), nil
}

// previewed brings the files that an app is looked at with, and sets its path to where they are. Call end when they are no longer read.
func (c *Cluster) previewed(ctx context.Context, a *app.App, cr object.Object, p Preview) (artifact source.Artifact, end func(), err error) {
	end = func() {}
	if p.Dir == "" {
		from := *a
		switch {
		case p.Revisions != "":
			if from, err = p.atRevisions(*a); err != nil {
				return artifact, end, err
			}
		case p.Revision != "":
			from.Source.Revision = p.Revision
		case p.Version != "":
			from.Source.Version = p.Version
		}
		artifact, err = c.fetch(ctx, from, cr)
		return artifact, end, err
	}
	tree, below, err := p.OpenTree()
	if err != nil {
		return artifact, end, err
	}
	artifact, end = source.Artifact{Revision: localRevision, Files: tree.Snapshot()}, func() { _ = tree.Close() } // it was only read
	if len(a.Parts) == 0 {
		a.Path = below
		return artifact, end, nil
	}
	joined, err := c.previewedPart(ctx, a, cr, localFiles{preview: p, artifact: artifact, path: below})
	if err != nil {
		end()
	}
	return joined, end, err
}
