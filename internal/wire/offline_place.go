package wire

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/render"
)

// locate returns the tree that a directory of this machine is in, and where in it the directory is. The tree is the git
// repository's; outside of one, the smallest directory that holds the bases that the kustomizations name, as kubectl kustomize reads
// them from anywhere.
func locate(dir string) (top, below string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", cause(err)
	}
	top, found := repositoryOf(dir)
	if !found {
		b := bases{top: dir, seen: map[string]bool{}}
		b.visit(dir)
		top = b.top
	}
	below, err = filepath.Rel(top, dir)
	return top, filepath.ToSlash(below), err
}

// repositoryOf finds the working tree that the directory is in: .git is a directory, or a file in a worktree or submodule.
func repositoryOf(dir string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// maxBases bounds the directories that are looked at. What is wrong in them is not told here: the build does.
const maxBases = 1000

// bases finds the directories that a kustomization is built on.
type bases struct {
	top  string
	seen map[string]bool
}

func (b *bases) visit(dir string) {
	if b.seen[dir] || len(b.seen) >= maxBases {
		return
	}
	b.seen[dir] = true
	for _, name := range kustomization(dir) {
		base, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || filepath.IsAbs(name) || !isRoot(base) {
			continue
		}
		for !within(base, b.top) {
			b.top = filepath.Dir(b.top)
		}
		b.visit(base)
	}
}

func within(dir, top string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// isRoot reports whether the path is a directory with a kustomization file: only such a one widens the tree.
func isRoot(dir string) bool {
	file, err := render.KustomizationFile(os.DirFS(dir), ".")
	return err == nil && file != ""
}

// isKustomization reports whether the path is a directory's kustomization file.
func isKustomization(path string) bool {
	name, err := render.KustomizationFile(os.DirFS(filepath.Dir(path)), ".")
	return err == nil && name == filepath.Base(path)
}

// kustomization lists what the directory's kustomization names as resources and components.
func kustomization(dir string) []string {
	files := os.DirFS(dir)
	name, err := render.KustomizationFile(files, ".")
	if err != nil || name == "" {
		return nil
	}
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := render.ReadFile(files, name, 1<<20)
	if err != nil {
		return nil
	}
	nodes, err := render.Nodes(name, data)
	if err != nil || len(nodes) != 1 {
		return nil
	}
	var out []string
	for _, key := range []string{"resources", "bases", "components"} {
		if list := render.Field(nodes[0], key); list != nil {
			for _, n := range list.Content {
				out = append(out, n.Value)
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" || strings.Contains(s, "\n") })
}
