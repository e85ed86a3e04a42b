// Command measure prints how large and how readable the code is: the figures that ARCHITECTURE.md and docs/status.md quote.
//
// Run `go -C tools run ./measure`, with -v to list what is counted, or with -graph to print the import graph of the folders as a Mermaid
// diagram.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	verbose = flag.Bool("v", false, "list what is counted")
	graph   = flag.Bool("graph", false, "print the import graph of the folders")
)

func main() {
	flag.Parse()
	c, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
	if *graph {
		fmt.Print(c.mermaid())
		return
	}
	c.print()
}

// code is what is counted.
type code struct {
	lines      map[string]int // of Go files that are neither tests nor generated, by folder of internal/ or by top directory
	testLines  int
	funcFields []string
	interfaces int
	short      []string            // package-level functions of six letters or fewer
	words      []string            // idioms in comments and documents
	imports    map[string][]string // packages of internal/, by package
}

const module = "github.com/truce-gitops/truce/internal/"

// read counts the files of the repository, which is the directory above the module of tools.
func read() (*code, error) {
	c := &code{lines: map[string]int{}, imports: map[string][]string{}}
	if err := os.Chdir(".."); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "bin" || d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "docs/adr/"):
			return c.document(name)
		case strings.HasSuffix(name, ".go"):
			return c.file(name)
		}
		return nil
	})
	return c, err
}

// idioms are the words that terms of the field replace.
var idioms = regexp.MustCompile(`(?i)\b(tells?|telling|told|nobody|somebody|whoever)\b`)

func (c *code) document(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, w := range idioms.FindAllString(line, -1) {
			c.words = append(c.words, fmt.Sprintf("%s:%d: %s", name, i+1, w))
		}
	}
	return nil
}

func (c *code) file(name string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	at := func(n ast.Node) string { return fmt.Sprintf("%s:%d", name, set.Position(n.Pos()).Line) }
	for _, g := range f.Comments {
		for _, line := range g.List {
			for _, w := range idioms.FindAllString(line.Text, -1) {
				c.words = append(c.words, at(line)+": "+w)
			}
		}
	}
	lines := set.Position(f.End()).Line
	if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/testing/") {
		c.testLines += lines
		return nil
	}
	if ast.IsGenerated(f) {
		return nil
	}
	c.lines[folder(name)] += lines
	if p, ok := strings.CutPrefix(filepath.ToSlash(filepath.Dir(name)), "internal/"); ok {
		c.imported(p, f)
	}
	c.declarations(f, at)
	return nil
}

func (c *code) imported(p string, f *ast.File) {
	if c.imports[p] == nil {
		c.imports[p] = []string{}
	}
	for _, spec := range f.Imports {
		if q, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ours && !slices.Contains(c.imports[p], q) {
			c.imports[p] = append(c.imports[p], q)
		}
	}
}

func (c *code) declarations(f *ast.File, at func(ast.Node) string) {
	for n := range ast.Preorder(f) {
		switch n := n.(type) {
		case *ast.StructType:
			c.fields(n, at)
		case *ast.InterfaceType:
			if n.Methods.NumFields() > 0 {
				c.interfaces++
			}
		case *ast.FuncDecl:
			if n.Recv == nil && len(n.Name.Name) <= 6 && n.Name.Name != "main" && n.Name.Name != "init" {
				c.short = append(c.short, at(n)+": "+n.Name.Name)
			}
		}
	}
}

func (c *code) fields(n *ast.StructType, at func(ast.Node) string) {
	for _, field := range n.Fields.List {
		if _, ok := field.Type.(*ast.FuncType); !ok {
			continue
		}
		for _, id := range field.Names {
			c.funcFields = append(c.funcFields, at(id)+": "+id.Name)
		}
	}
}

// folder returns the folder of internal/ that a file is in, or the top directory.
func folder(name string) string {
	parts := strings.Split(filepath.ToSlash(name), "/")
	if parts[0] == "internal" && len(parts) > 2 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

func (c *code) print() {
	product := 0
	for _, name := range slices.Sorted(maps.Keys(c.lines)) {
		if strings.HasPrefix(name, "internal/") || name == "cmd" {
			product += c.lines[name]
		}
		fmt.Printf("%-38s %6d\n", "lines in "+name, c.lines[name])
	}
	fmt.Printf("%-38s %6d\n", "lines of the product (cmd, internal)", product)
	fmt.Printf("%-38s %6d\n", "lines of tests", c.testLines)
	fmt.Printf("%-38s %6d\n", "packages in internal/", len(c.imports))
	chain := longest(c.imports)
	fmt.Printf("%-38s %6d  %s\n", "longest chain of packages", len(chain), strings.Join(chain, " > "))
	chain = longest(c.folders())
	fmt.Printf("%-38s %6d  %s\n", "longest chain of folders", len(chain), strings.Join(chain, " > "))
	fmt.Printf("%-38s %6d\n", "interfaces", c.interfaces)
	list("function-typed struct fields", c.funcFields)
	list("package functions of <= 6 letters", c.short)
	list("idioms in comments and documents", c.words)
}

func list(what string, all []string) {
	fmt.Printf("%-38s %6d\n", what, len(all))
	for _, line := range all {
		if *verbose {
			fmt.Println("  " + line)
		}
	}
}

func (c *code) folders() map[string][]string {
	out := map[string][]string{}
	for p, all := range c.imports {
		from := strings.Split(p, "/")[0]
		if out[from] == nil {
			out[from] = []string{}
		}
		for _, q := range all {
			if to := strings.Split(q, "/")[0]; to != from && !slices.Contains(out[from], to) {
				out[from] = append(out[from], to)
			}
		}
	}
	return out
}

// longest returns a longest chain of imports; the graph has no cycle.
func longest(imports map[string][]string) []string {
	memo := map[string][]string{}
	var from func(p string) []string
	from = func(p string) []string {
		if known, ok := memo[p]; ok {
			return known
		}
		var best []string
		for _, q := range slices.Sorted(slices.Values(imports[p])) {
			if way := from(q); len(way) > len(best) {
				best = way
			}
		}
		memo[p] = append([]string{p}, best...)
		return memo[p]
	}
	var best []string
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if way := from(p); len(way) > len(best) {
			best = way
		}
	}
	return best
}

// mermaid returns the folders and their imports, without those that follow from others.
func (c *code) mermaid() string {
	all := c.folders()
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	for _, from := range slices.Sorted(maps.Keys(all)) {
		for _, to := range slices.Sorted(slices.Values(all[from])) {
			if !slices.ContainsFunc(all[from], func(via string) bool { return via != to && reaches(all, via, to) }) {
				fmt.Fprintf(&b, "  %s --> %s\n", from, to)
			}
		}
	}
	return b.String()
}

func reaches(all map[string][]string, from, to string) bool {
	return slices.ContainsFunc(all[from], func(next string) bool { return next == to || reaches(all, next, to) })
}
