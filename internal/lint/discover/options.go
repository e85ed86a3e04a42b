package discover

import (
	"io/fs"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
)

// Options say how a repository is looked at.
type Options struct {
	// Kinds are the custom resources that ask for something to be kept in sync.
	Kinds []Kind
	// Render makes objects of files. It is called concurrently, and must fill Result.Reads (render.Cached).
	Render render.Renderer
	// Queries answers the jq expressions of ignore rules; nil leaves them without an answer.
	Queries reconcile.Queries
	// Only leaves out the apps of other dialects and what no app names. Empty for all.
	Only Dialect
	// Addresses are those by which this repository is known, such as the remotes of its clone.
	Addresses []string
	// Asked is the directory that the survey is wanted for, which is looked into whatever its name is; empty for all.
	Directory string
	// Ignored reports which paths are in the tree and are no part of the repository, as those that Git ignores; nil for none.
	Ignored func(path string) bool
	// Workers is how many units are rendered at once; 0 means one.
	Workers int
	// Progress gets the number of rendered units and of known ones; may be nil. Its calls do not overlap.
	Progress func(done, total int)
}

// Kind is a kind of custom resource, at any version.
type Kind struct {
	Dialect     Dialect
	Group, Kind string
	// Apps reads it. Expand lists the custom resources that it describes, by the files of the repository, of which here knows addresses; its
	// error says why they are not known. Without both it is known that it asks for something, and not yet looked into.
	Apps   dialect.Apps
	Expand func(cr object.Object, files fs.FS, here func(address string) bool) ([]Made, error)
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
	Only     Dialect
	// RemoteBases says that what kustomizations name by its address is fetched.
	RemoteBases bool
	Progress    func(done, total int)
}
