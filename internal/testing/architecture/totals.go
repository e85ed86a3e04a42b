package architecture

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// The budgets of the whole, which no place breaks alone. `go -C tools run ./measure -v` lists what they count.
const (
	briefNames     = 20
	briefName      = 6 // letters, and fewer
	functionFields = 30
	chainOfImports = 12
)

// namesSayWhatTheyDo: a function of a package has no receiver that says what a short verb is about.
func namesSayWhatTheyDo(t tree, report report) {
	var brief []string
	for f, d := range t.functions() {
		if name := d.Name.Name; isProduct(f.path) && d.Recv == nil && len(name) <= briefName && name != "main" && name != "init" {
			brief = append(brief, f.at(d)+" "+name)
		}
	}
	if n := len(brief); n > briefNames {
		report("internal", "%d functions of packages have names of %d letters or fewer, budget %d; name what they are about: %q", n, briefName, briefNames, brief)
	}
}

// fieldsAreNoFunctions: go to definition ends at a field that holds a function.
func fieldsAreNoFunctions(t tree, report report) {
	var fields []string
	for _, f := range t.written() {
		if !isProduct(f.path) {
			continue
		}
		for n := range ast.Preorder(f.syntax) {
			if s, ok := n.(*ast.StructType); ok {
				fields = append(fields, functionsIn(f, s)...)
			}
		}
	}
	if n := len(fields); n > functionFields {
		report("internal", "%d fields hold functions, budget %d; make them interfaces or methods: %q", n, functionFields, fields)
	}
}

// isProduct reports whether a file is a part of the program: not of the tests, the sandbox or the tools.
func isProduct(path string) bool {
	return strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "internal/") && !strings.HasPrefix(path, "internal/testing/")
}

func functionsIn(f *file, s *ast.StructType) (fields []string) {
	for _, field := range s.Fields.List {
		if _, ok := field.Type.(*ast.FuncType); !ok {
			continue
		}
		for _, name := range field.Names {
			fields = append(fields, f.at(name)+" "+name.Name)
		}
	}
	return fields
}

// chainsAreShort: who reads the last package of a chain has read all before it.
func chainsAreShort(t tree, report report) {
	ours := map[string][]string{}
	for from, all := range t.graph {
		name, ok := internalName(from)
		if !ok || !strings.HasPrefix(from, module) || strings.HasPrefix(name, "testing/") {
			continue
		}
		ours[name] = nil
		for _, to := range all {
			if imported, ok := internalName(to); ok && strings.HasPrefix(to, module) {
				ours[name] = append(ours[name], imported)
			}
		}
	}
	if chain := longestChain(ours); len(chain) > chainOfImports {
		report("internal", "a chain of imports has %d packages, budget %d; take out one of them: %s", len(chain), chainOfImports, strings.Join(chain, " > "))
	}
}

// longestChain returns one of the longest chains. In a circle of imports, which another rule reports, it stops somewhere.
func longestChain(imports map[string][]string) (longest []string) {
	known := map[string][]string{}
	var from func(name string) []string
	from = func(name string) []string {
		if chain, ok := known[name]; ok {
			return chain
		}
		known[name] = nil
		var best []string
		for _, next := range slices.Sorted(slices.Values(imports[name])) {
			if chain := from(next); len(chain) > len(best) {
				best = chain
			}
		}
		known[name] = append([]string{name}, best...)
		return known[name]
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if chain := from(name); len(chain) > len(longest) {
			longest = chain
		}
	}
	return longest
}
