package overlay

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Found returns the overlay with the components that its patterns match, in the order of their names, instead of the patterns, as
// `kustomize edit add component` does it in a directory. A pattern that matches nothing stays, and is a component that is not there.
func (o Overlay) Found(files fs.FS, dir string) Overlay {
	var found []string
	for _, c := range o.Components {
		found = append(found, matchingFiles(files, dir, c)...)
	}
	o.Components = slices.Compact(found)
	return o
}

func matchingFiles(files fs.FS, dir, pattern string) []string {
	if !patterned(pattern) {
		return []string{pattern}
	}
	names, err := fs.Glob(files, path.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		return []string{pattern}
	}
	out := make([]string, len(names))
	for i, name := range names {
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return []string{pattern}
		}
		out[i] = filepath.ToSlash(below)
	}
	return out
}

// patterned reports whether the text is more than a name, see path.Match.
func patterned(text string) bool { return strings.ContainsAny(text, "*?[") }
