package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/truce-gitops/truce/internal/render"
)

// mount is where Kustomize sees the top of the tree. It is not "/", so that a path that climbs out of the tree is seen to.
const mount = "/source"

var (
	errReadOnly = errors.New("the source is read-only")
	errOutside  = errors.New("path leads out of the source")
)

// files is the tree as Kustomize's file system: read-only, rooted, with a few files of ours laid over it.
type files struct {
	tree  fs.FS
	over  map[string][]byte
	limit int64
}

// treePath translates Kustomize's path to the tree's.
func treePath(p string) (string, error) {
	p = path.Clean(filepath.ToSlash(p))
	if p == mount {
		return ".", nil
	}
	below, ok := strings.CutPrefix(p, mount+"/")
	if !ok {
		return "", fmt.Errorf("open %s: %w", p, errOutside)
	}
	return below, nil
}

func mountPath(p string) string { return path.Join(mount, p) }

func (f files) stat(p string) (fs.FileInfo, error) {
	name, err := treePath(p)
	if err != nil {
		return nil, err
	}
	return fs.Stat(f.tree, name)
}

// IsDir implements filesys.FileSystem.
func (f files) IsDir(p string) bool {
	info, err := f.stat(p)
	return err == nil && info.IsDir()
}

// Exists implements filesys.FileSystem.
func (f files) Exists(p string) bool {
	if name, err := treePath(p); err == nil && f.over[name] != nil {
		return true
	}
	_, err := f.stat(p)
	return err == nil
}

// ReadFile implements filesys.FileSystem.
func (f files) ReadFile(p string) ([]byte, error) {
	name, err := treePath(p)
	if err != nil {
		return nil, err
	}
	if b := f.over[name]; b != nil {
		return b, nil
	}
	return render.ReadFile(f.tree, name, f.limit)
}

// ReadDir implements filesys.FileSystem.
func (f files) ReadDir(p string) ([]string, error) {
	name, err := treePath(p)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(f.tree, name)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// CleanedAbs implements filesys.FileSystem.
func (f files) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	p = path.Clean(filepath.ToSlash(p))
	if name, err := treePath(p); err == nil && f.over[name] != nil {
		return filesys.ConfirmedDir(path.Dir(p)), path.Base(p), nil
	}
	info, err := f.stat(p)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return filesys.ConfirmedDir(p), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(p)), path.Base(p), nil
}

// Open implements filesys.FileSystem. Kustomize reads by ReadFile; nothing needs it.
func (files) Open(p string) (filesys.File, error) {
	return nil, fmt.Errorf("open %s: %w", p, errors.ErrUnsupported)
}

// Glob implements filesys.FileSystem. Only the loading of plugins needs it, and there are none.
func (files) Glob(p string) ([]string, error) {
	return nil, fmt.Errorf("glob %s: %w", p, errors.ErrUnsupported)
}

// Walk implements filesys.FileSystem. Only the loading of plugins needs it, and there are none.
func (files) Walk(p string, _ filepath.WalkFunc) error {
	return fmt.Errorf("walk %s: %w", p, errors.ErrUnsupported)
}

// Create implements filesys.FileSystem.
func (files) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (files) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (files) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements filesys.FileSystem.
func (files) RemoveAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (files) WriteFile(string, []byte) error { return errReadOnly }

var _ filesys.FileSystem = files{}
