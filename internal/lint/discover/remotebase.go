package discover

import (
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Entry is where the repository itself names the remote base that a file is in: the entry of a kustomization that the unit builds, or where
// the unit begins if none is found. The zero Place is for a file that is in no remote base.
func (u Unit) Entry(files fs.FS, file string) desired.Place {
	top := upstream.RepositoryRoot(file)
	if top == "" {
		return desired.Place{}
	}
	e := entries{files: files, file: file, top: top, seen: map[string]bool{}}
	for _, dir := range u.Paths() {
		e.walk(dir, desired.Place{})
	}
	switch {
	case e.best.File != "":
		return e.best
	case e.any.File != "":
		return e.any
	}
	return desired.Place{File: u.File, Line: u.Line, Means: desired.ByManifest}
}

// entries is one Entry.
type entries struct {
	files     fs.FS
	file, top string
	seen      map[string]bool // directories
	best      desired.Place   // of the entry that leads to the nearest directory above the file
	nearest   int
	any       desired.Place // of one that names the repository
}

// walk looks at a directory to which an entry of the repository has led; without one, to a directory of the repository.
func (e *entries) walk(dir string, by desired.Place) {
	if e.seen[dir] {
		return
	}
	e.seen[dir] = true
	if by.File != "" {
		e.reached(dir, by)
	}
	name, err := render.KustomizationFile(e.files, dir)
	if err != nil || name == "" {
		return // the renderer reports it
	}
	for _, n := range namedEntries(e.files, name) {
		at, to := by, upstream.JoinEntry(dir, n.Value)
		if at.File == "" && upstream.RepositoryRoot(to) != "" {
			at = desired.Place{File: name, Line: n.Line, Column: n.Column, Means: desired.ByManifest}
		}
		e.walk(to, at)
	}
}

func (e *entries) reached(dir string, by desired.Place) {
	if strings.HasPrefix(e.file, dir+"/") && len(dir) > e.nearest {
		e.best, e.nearest = by, len(dir)
	}
	if e.any.File == "" && upstream.RepositoryRoot(dir) == e.top {
		e.any = by
	}
}

// namedEntries are the entries of a kustomization file that may lead to another one; none where it cannot be read, the renderer reports it.
func namedEntries(files fs.FS, name string) []*yaml.Node {
	data, err := render.ReadFile(files, name, render.Limits{}.OrDefault().FileBytes)
	if err != nil {
		return nil
	}
	docs, err := render.ParseNodes(name, data)
	if err != nil || len(docs) == 0 {
		return nil
	}
	var out []*yaml.Node
	for _, key := range []string{"resources", "bases", "components"} {
		if list := render.FieldNode(docs[0], key); list != nil {
			for _, n := range list.Content {
				out = append(out, render.FollowAlias(n))
			}
		}
	}
	return out
}

// here places what was not looked into in the repository, if it is in a remote base.
func (k Skipped) here(u Unit, files fs.FS) Skipped {
	at := u.Entry(files, k.File)
	if at.File == "" {
		return k
	}
	k.Why = upstream.DisplayName(k.File, k.Line, 0) + ": " + k.Why
	k.File, k.Line = at.File, at.Line
	return k
}
