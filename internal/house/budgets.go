package house

import (
	"go/ast"
	"iter"
	"path"
	"slices"
)

// The budgets, and the words that go with them. Aim at a third of each.
const (
	fileLines     = 400
	functionLines = 60
	nesting       = 3
	parameters    = 4 // beside the context
	results       = 3
	methods       = 3
	exportedNames = 20
)

// filesAreShort keeps a file readable in one sitting.
func filesAreShort(h house, say say) {
	for _, f := range h.written() {
		if n := f.length(); n > fileLines {
			say(f.path, "has %d lines, budget %d; give the second subject in it a file of its own", n, fileLines)
		}
	}
}

// functionsFitOnAScreen keeps one level of story in each.
func functionsFitOnAScreen(h house, say say) {
	for f, d := range h.functions() {
		if n := f.line(d.End()) - f.line(d.Pos()) + 1; n > functionLines {
			say(f.at(d), "%s has %d lines, budget %d; name its paragraphs and make them functions", d.Name.Name, n, functionLines)
		}
	}
}

// functions yields each function that is not in a test.
func (h house) functions() iter.Seq2[*file, *ast.FuncDecl] {
	return func(yield func(*file, *ast.FuncDecl) bool) {
		for _, f := range h.written() {
			for _, decl := range f.syntax.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && !yield(f, d) {
					return
				}
			}
		}
	}
}

// nestingIsShallow: who reads the innermost line must remember every condition around it.
func nestingIsShallow(h house, say say) {
	for f, d := range h.functions() {
		if at, depth := deepest(d); depth > nesting {
			say(f.at(at), "%s nests %d deep, budget %d; return early, or make the inner part a function", d.Name.Name, depth, nesting)
		}
	}
}

// deepest returns the statement within the most others that branch or loop. An else if is beside its if.
func deepest(d *ast.FuncDecl) (at ast.Node, depth int) {
	type frame struct {
		node  ast.Node
		level int
	}
	stack := []frame{{node: d}}
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		top := stack[len(stack)-1]
		level := top.level
		if outer, ok := top.node.(*ast.IfStmt); branches(n) && (!ok || outer.Else != n) {
			level++
		}
		if level > depth {
			at, depth = n, level
		}
		stack = append(stack, frame{node: n, level: level})
		return true
	})
	return at, depth
}

func branches(n ast.Node) bool {
	switch n.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return true
	}
	return false
}

// signaturesAreShort: five values that belong together are a type that is not yet written.
func signaturesAreShort(h house, say say) {
	for f, d := range h.functions() {
		if n := arguments(f, d.Type); n > parameters {
			say(f.at(d), "%s takes %d values beside the context, budget %d; make them a struct", d.Name.Name, n, parameters)
		}
		if n := d.Type.Results.NumFields(); n > results {
			say(f.at(d), "%s returns %d values, budget %d; make them a struct", d.Name.Name, n, results)
		}
	}
}

func arguments(f *file, t *ast.FuncType) int {
	n := t.Params.NumFields()
	if n == 0 {
		return 0
	}
	if sel, ok := t.Params.List[0].Type.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == f.called("context") {
			n--
		}
	}
	return n
}

// noBooleanArguments: Sync(app, true, false) says nothing where it is called.
func noBooleanArguments(h house, say say) {
	for f, d := range h.functions() {
		if !public(d) {
			continue
		}
		for _, p := range d.Type.Params.List {
			if id, ok := p.Type.(*ast.Ident); ok && id.Name == "bool" {
				say(f.at(p), "%s takes a bool; give the two cases a type with names", d.Name.Name)
			}
		}
	}
}

// interfacesAreSmall: the bigger the interface, the weaker the abstraction.
func interfacesAreSmall(h house, say say) {
	for _, f := range h.written() {
		for n := range ast.Preorder(f.syntax) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > methods {
				say(f.at(spec), "%s has %d methods, budget %d; ask only for what its user calls", spec.Name.Name, i.Methods.NumFields(), methods)
			}
		}
	}
}

// noInit: nothing happens before main, and nothing by being imported.
func noInit(h house, say say) {
	for f, d := range h.functions() {
		if d.Recv == nil && d.Name.Name == "init" {
			say(f.at(d), "init runs behind the reader's back; call it by name from wire")
		}
	}
}

// packagesSayLittle: a package is as easy to learn as its list of names is short.
func packagesSayLittle(h house, say say) {
	for _, p := range h.pkgs {
		var names []string
		for f := range p.written() {
			names = append(names, exported(f)...)
		}
		if n := len(names); n > exportedNames {
			say(p.dir, "exports %d names, budget %d; hide what only it uses, or part it: %q", n, exportedNames, names)
		}
	}
}

// exported returns the names that a file adds to its package. The values of an enumeration count as their type.
func exported(f *file) (names []string) {
	for _, decl := range f.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			names = append(names, exportedSpecs(d.Specs)...)
		}
	}
	return names
}

func exportedSpecs(specs []ast.Spec) (names []string) {
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			if _, ofEnumeration := s.Type.(*ast.Ident); !ofEnumeration {
				names = append(names, exportedIdents(s.Names)...)
			}
		}
	}
	return names
}

func exportedIdents(ids []*ast.Ident) (names []string) {
	for _, id := range ids {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	return names
}

// testsDoNotSleep: a sleep is too long on a quiet machine and too short on a busy one.
func testsDoNotSleep(h house, say say) {
	for _, p := range h.pkgs {
		for _, f := range p.files {
			if f.test || slices.Contains(testRooms, path.Base(p.dir)) {
				sleepless(f, say)
			}
		}
	}
}

func sleepless(f *file, say say) {
	for sel := range f.selectors("time") {
		if sel.Sel.Name == "Sleep" {
			say(f.at(sel), "a test sleeps; wait for the event or the condition, with a context that ends")
		}
	}
}
