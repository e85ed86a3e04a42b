// Package architecture answers: does the code keep its layers, and is it small enough to be read?
//
// In: layers.txt, the Go files of this repository, and the import graph that `go list` prints.
// Out: a failed test with a sentence for each fault, which names the place and what to do.
// Promise: every rule has a story in testdata that breaks it; a rule that nothing can break fails as well.
// Not here: what linters know better (.golangci.yml), and whether the program works.
package architecture

//go:generate go run -C ../../../tools ./measure -into ARCHITECTURE.md

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/truce-gitops/truce/"

// tree is the whole source, parsed.
type tree struct {
	layers layers
	pkgs   []*pkg
	// graph holds the imports of every package that ours reach, by import path.
	graph map[string][]string
}

// pkg is one directory of Go files.
type pkg struct {
	dir   string // such as internal/source/git
	files []*file
}

type file struct {
	path            string
	text            []byte
	syntax          *ast.File
	lines           *token.FileSet
	test, generated bool
}

// fault is one sentence about a broken rule.
type fault struct{ rule, where, what string }

func (f fault) String() string { return fmt.Sprintf("%s: %s [%s]", f.where, f.what, f.rule) }

// rule calls report for each place that breaks it.
type rule struct {
	name  string
	check func(t tree, report report)
}

type report func(where, format string, args ...any)

// faults applies every rule and returns what they say, sorted.
func (t tree) faults(rules []rule) []fault {
	var all []fault
	for _, r := range rules {
		r.check(t, func(where, format string, args ...any) {
			all = append(all, fault{rule: r.name, where: where, what: fmt.Sprintf(format, args...)})
		})
	}
	slices.SortFunc(all, func(a, b fault) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// read parses every Go file below the root of a tree, those of nested modules as well.
func read(root fs.FS, plan []byte) (tree, error) {
	layers, err := parseLayers(plan)
	if err != nil {
		return tree{}, err
	}
	t := tree{layers: layers, graph: map[string][]string{}}
	byDir := map[string]*pkg{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := readFile(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir}
			t.pkgs = append(t.pkgs, byDir[dir])
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	return t, err
}

// skipped reports the directories that the go command skips, and where the product's own are not.
func skipped(dir string) bool {
	return dir == "testdata" || dir == "bin" || len(dir) > 1 && (dir[0] == '.' || dir[0] == '_')
}

func readFile(tree fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	f := &file{path: name, text: text, lines: token.NewFileSet(), test: strings.HasSuffix(name, "_test.go")}
	f.syntax, err = parser.ParseFile(f.lines, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.generated = ast.IsGenerated(f.syntax)
	return f, nil
}

// at returns where a node begins, as path:line.
func (f *file) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.line(n.Pos()))
}

func (f *file) line(at token.Pos) int { return f.lines.Position(at).Line }

func (f *file) length() int { return bytes.Count(f.text, []byte("\n")) }

// imports yields each import with its path.
func (f *file) imports() iter.Seq2[*ast.ImportSpec, string] {
	return func(yield func(*ast.ImportSpec, string) bool) {
		for _, spec := range f.syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !yield(spec, name) {
				return
			}
		}
	}
}

// called returns the name by which the file calls a package that it imports, or "".
func (f *file) called(pkg string) string {
	for spec, name := range f.imports() {
		if name != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// written yields the files that are neither tests nor generated.
func (p *pkg) written() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, f := range p.files {
			if !f.test && !f.generated && !yield(f) {
				return
			}
		}
	}
}

// written yields such files of all packages.
func (t tree) written() iter.Seq2[*pkg, *file] {
	return func(yield func(*pkg, *file) bool) {
		for _, p := range t.pkgs {
			for f := range p.written() {
				if !yield(p, f) {
					return
				}
			}
		}
	}
}

// internalName returns the name of a package below internal/, such as source/git, by its directory or import path.
func internalName(where string) (name string, ok bool) {
	return strings.CutPrefix(strings.TrimPrefix(where, module), "internal/")
}
