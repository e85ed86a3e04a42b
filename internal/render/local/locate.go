package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
)

// LocateRoot returns the tree that a directory of this machine is in, and where in it the directory is. The tree is the git
// repository's; outside of one, the smallest directory that holds the bases that the kustomizations name, as kubectl kustomize reads
// them from anywhere.
func LocateRoot(dir string) (top, below string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", SystemCause(err)
	}
	top, found := WorkingTree(dir)
	if !found {
		b := foundBases{top: dir, seen: map[string]bool{}}
		b.visit(dir)
		top = b.top
	}
	below, err = filepath.Rel(top, dir)
	return top, filepath.ToSlash(below), err
}

// WorkingTree finds the working tree that the directory is in: .git is a directory, or a file in a worktree or submodule.
func WorkingTree(dir string) (string, bool) {
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

// maxBases bounds the directories that are looked at. Errors in them are left to the build, which reports them.
const maxBases = 1000

// foundBases finds the directories that a kustomization is built on.
type foundBases struct {
	top  string
	seen map[string]bool
}

func (b *foundBases) visit(dir string) {
	if b.seen[dir] || len(b.seen) >= maxBases {
		return
	}
	b.seen[dir] = true
	for _, name := range namedPaths(kustomization(os.DirFS(dir), ".")) {
		base, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || filepath.IsAbs(name) || !isKustomizeRoot(base) {
			continue
		}
		for !isWithin(base, b.top) {
			b.top = filepath.Dir(b.top)
		}
		b.visit(base)
	}
}

func isWithin(dir, top string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// isKustomizeRoot reports whether the path is a directory with a kustomization file: only such a one widens the tree.
func isKustomizeRoot(dir string) bool {
	file, err := render.KustomizationFile(os.DirFS(dir), ".")
	return err == nil && file != ""
}

// IsKustomization reports whether the path is a directory's kustomization file.
func IsKustomization(path string) bool {
	name, err := render.KustomizationFile(os.DirFS(filepath.Dir(path)), ".")
	return err == nil && name == filepath.Base(path)
}

// SortsByKind reports whether kubectl kustomize would sort the objects: the kustomization sets no sortOptions.
func SortsByKind(files fs.FS, dir string) bool {
	top := kustomization(files, dir)
	return top != nil && render.FieldNode(top, "sortOptions") == nil
}

// kustomization reads the kustomization file of a directory; nil if there is none, or none that can be read: the build says so.
func kustomization(files fs.FS, dir string) *yaml.Node {
	name, err := render.KustomizationFile(files, dir)
	if err != nil || name == "" {
		return nil
	}
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	const most = 1 << 20
	data, err := render.ReadFile(files, name, most)
	if err != nil {
		return nil
	}
	nodes, err := render.ParseNodes(name, data)
	if err != nil || len(nodes) != 1 {
		return nil
	}
	return nodes[0]
}

// namedPaths lists what a kustomization names that may be a directory with a kustomization of its own, which kubectl kustomize reads from anywhere.
func namedPaths(top *yaml.Node) []string {
	var out []string
	for _, key := range []string{"resources", "bases", "components", "generators", "transformers", "validators"} {
		list := render.FieldNode(top, key)
		if list == nil {
			continue
		}
		for _, n := range list.Content {
			if n.Value != "" && !strings.Contains(n.Value, "\n") {
				out = append(out, n.Value)
			}
		}
	}
	return out
}

// SystemCause returns the operating system's reason, without the operation and the path, which the caller adds.
func SystemCause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
