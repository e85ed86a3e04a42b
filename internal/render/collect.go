package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// kustomizationFiles are the names that Kustomize looks for, in its order.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// KustomizationFile returns the kustomization file of a directory, "" if it has none. More than one is an error.
func KustomizationFile(files fs.FS, dir string) (string, error) {
	var found []string
	for _, name := range kustomizationFiles {
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
// included, links to directories not. A sub-directory with a kustomization file is a root of its own and not descended.
// (fluxcd/pkg/kustomize, Generator.generateKustomization)
func Collect(files fs.FS, dir string) (manifests, roots []string, err error) {
	err = fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if !d.IsDir() {
			if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
				manifests = append(manifests, name)
			}
			return nil
		}
		root, err := hasKustomization(files, name)
		if err != nil || !root {
			return err
		}
		roots = append(roots, name)
		return fs.SkipDir
	})
	return manifests, roots, err
}

func hasKustomization(files fs.FS, dir string) (bool, error) {
	entries, err := fs.ReadDir(files, dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && slices.Contains(kustomizationFiles, e.Name())
	}), err
}

// ReadFile reads a file of at most limit bytes (ErrLimit).
func ReadFile(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%d bytes, more than %d: %w", info.Size(), limit, ErrLimit)
	}
	return fs.ReadFile(files, name)
}
