// Package exclude answers: which files of a source are no part of its artifact?
//
// In: the lines of spec.ignore, and the .sourceignore files of a tree.
// Out: yes or no for each path.
// Promise: pure; the rules are those of Flux's source-controller.
// Not here: reading the files (source/tree, source/disk).
package exclude

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// IgnoreFile is the name of the files in a tree whose lines exclude what lies beside and below them.
const IgnoreFile = sourceignore.IgnoreFile

// What the rules of one source may have together, whose every line is compared with every path.
const (
	MostBytes = 256 << 10
	mostLines = 10_000
)

// CheckSize refuses rules that would take too long to compare with the paths of a source. Its arguments are those of NewExclusions.
func CheckSize(lines string, files map[string]string) error {
	size, count := len(lines), strings.Count(lines, "\n")
	for _, text := range files {
		size += len(text)
		count += strings.Count(text, "\n")
	}
	switch {
	case size > MostBytes:
		return fmt.Errorf("spec.ignore and the %s files have more than %d bytes", IgnoreFile, MostBytes)
	case count > mostLines:
		return fmt.Errorf("spec.ignore and the %s files have more than %d lines", IgnoreFile, mostLines)
	}
	return nil
}

// Exclusions decides which paths are no part of an artifact, by the rules of Flux's source-controller: the .sourceignore files
// of the tree, then the source's own lines, the last match wins; without any rule, a default list (images, archives,
// CI files, .sops.yaml); and always git's own files. The zero value excludes nothing; make one with NewExclusions.
type Exclusions struct{ match gitignore.Matcher }

// NewExclusions reads the lines of a source's spec, and the content of each .sourceignore file by the directory
// that holds it ("." is the root).
func NewExclusions(lines string, files map[string]string) Exclusions {
	var rules []gitignore.Pattern
	for _, dir := range parentsFirst(files) {
		rules = append(rules, sourceignore.ReadPatterns(strings.NewReader(files[dir]), pathSteps(dir))...)
	}
	rules = append(rules, sourceignore.ReadPatterns(strings.NewReader(lines), nil)...)
	if len(rules) == 0 {
		return Exclusions{sourceignore.NewDefaultMatcher(nil, nil)}
	}
	return Exclusions{sourceignore.NewMatcher(append(sourceignore.VCSPatterns(nil), rules...))}
}

// File says whether the file at path is excluded, by itself or with a directory above it.
func (e Exclusions) File(path string) bool {
	return e.match != nil && e.match.Match(pathSteps(path), false)
}

func parentsFirst(files map[string]string) []string {
	return slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(pathSteps(a)), len(pathSteps(b))), cmp.Compare(a, b))
	})
}

func pathSteps(path string) []string {
	if path == "." {
		return nil
	}
	return strings.Split(path, "/")
}
