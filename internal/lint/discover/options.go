package discover

import (
	"context"
	"io/fs"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Options say how a repository is looked at.
type Options struct {
	// Kinds are the custom resources that ask for something to be kept in sync.
	Kinds []Kind
	// Render makes objects of files. It is called concurrently, and must fill Result.Reads (render.Cached).
	Render render.Renderer
	// Queries answers the jq expressions of ignore rules; nil leaves them without an answer.
	Queries Queries
	// Addresses are those by which this repository is known, such as the remotes of its clone.
	Addresses []string
	// Asked is the directory that the survey is wanted for, which is looked into whatever its name is; empty for all.
	Directory string
	// Ignored are the paths in the tree that are no part of the repository, as those that Git ignores; nil for none.
	Ignored map[string]bool
	// Charts says that Render fetches charts of repositories of charts and of registries (upstream.Address).
	Charts bool
	// Workers is how many units are rendered at once; 0 means one.
	Workers  int
	Progress Progress // may be nil
}

// Queries answers jq expressions about an object of the repository. Select may be called concurrently and may block until ctx ends.
type Queries interface {
	Select(ctx context.Context, queries []string, git, live object.Object) (map[string]ignore.Answer, error)
}

// Progress follows the work. Its calls do not overlap.
type Progress interface {
	// Rendered gets the number of rendered units and of known ones.
	Rendered(done, total int)
}

// Kind is a kind of custom resource, at any version.
type Kind struct {
	Dialect     Dialect
	Group, Kind string
	// Apps reads it, Sets reads one that describes others. Without both it is known that it asks for something, and not yet looked into.
	Apps dialect.Apps
	Sets Sets
}

// Sets reads custom resources that describe others.
type Sets interface {
	// Expand lists those that one describes, by the files of the repository; its error says why they are not known.
	Expand(cr object.Object, files fs.FS, r Addresses) ([]Made, error)
}

// Addresses are those by which a repository is known.
type Addresses interface {
	// IsHere reports whether an address is one of them.
	IsHere(address string) bool
}

// Made is a custom resource that another one describes, and where its parts are written. Fields are named as in spec.patches[0].patch; a
// text on the way to one is YAML.
type Made struct {
	Object object.Object
	// Templates are fields of the other one that hold the custom resource, but for parameters: first the ones that win, some may be absent.
	Templates []string
	// Parameters are where the parameters get their values, first the ones that win.
	Parameters []Spot
}

// Spot is where parameters are written.
type Spot struct {
	Name string // what all their names begin with, before a dot; empty for any
	File string // empty for that of the custom resource itself
	At   string // the field below which their names are those of fields; empty for the top of the file
}

// Request says which repository is meant, and what of it.
type Request struct {
	// Path is a directory of this machine; with it all of the working tree is read that it is in. Repo is an address instead.
	Path, Repo string
	Ref        string // of Repo: a branch, tag or commit; empty for HEAD
	// Revision is one of the working tree's repository, as git names it, that is read instead of the files that lie at Path.
	Revision string
	// AsBase says that another revision is compared with this one, which may describe nothing: all is new then.
	AsBase bool
	// Only leaves out what is about the apps of other dialects, and about what no app names. Empty for all.
	Only Dialect
	// RemoteBases says that what kustomizations name by its address is fetched, and the charts of HelmReleases and Applications.
	RemoteBases bool
	// Servers may be fetched from, Repo's too.
	Servers  egress.Policy
	Progress Progress // may be nil
}
