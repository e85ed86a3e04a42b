package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// KustomizationFiles are the names that Kustomize looks for, in its order.
func KustomizationFiles() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// Collected is what a directory without a kustomization file holds.
type Collected struct {
	// Files are manifest files, in walking order, relative to the top of the tree.
	Files []string
	// Roots are sub-directories that have a kustomization file; nothing below them is in Files.
	Roots []string
	// All is Files and Roots in the order in which they were met.
	All []string
}

// KustomizationFile returns the kustomization file of a directory, "" if it has none. More than one is an error.
func KustomizationFile(files fs.FS, dir string) (string, error) {
	var found []string
	for _, name := range KustomizationFiles() {
		info, err := fs.Stat(files, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if !info.IsDir() {
			found = append(found, path.Join(dir, name))
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("more than one kustomization file: %q", found)
}

// Collect finds the manifests of a directory as Flux's generator does: .yaml and .yml files at any depth, links to files
// included, links to directories not; a sub-directory with a kustomization file is a root of its own.
// (fluxcd/pkg/kustomize, Generator.generateKustomization)
func Collect(files fs.FS, dir string) (Collected, error) {
	var c Collected
	err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == dir:
			return nil
		case d.IsDir():
			return c.directory(files, name)
		}
		if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
			c.Files, c.All = append(c.Files, name), append(c.All, name)
		}
		return nil
	})
	return c, err
}

func (c *Collected) directory(files fs.FS, name string) error {
	if path.Base(name) == ".git" {
		return fs.SkipDir
	}
	entries, err := fs.ReadDir(files, name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(KustomizationFiles(), e.Name()) {
			c.Roots, c.All = append(c.Roots, name), append(c.All, name)
			return fs.SkipDir
		}
	}
	return nil
}

// ReadFile reads a file of at most limit bytes (ErrLimit).
func ReadFile(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%d bytes, more than %d: %w", info.Size(), limit, ErrLimit)
	}
	return fs.ReadFile(files, name)
}
