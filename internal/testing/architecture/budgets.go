package architecture

import (
	"go/ast"
	"go/token"
	"iter"
)

// The budgets, and the words that go with them. Aim at a third of each.
const (
	fileLines     = 400
	functionLines = 60
	nesting       = 3
	parameters    = 4 // beside the context
	results       = 3
	methods       = 7
	exportedNames = 20
)

// filesAreShort keeps a file readable in one sitting.
func filesAreShort(t tree, report report) {
	for _, f := range t.written() {
		if n := f.length(); n > fileLines {
			report(f.path, "has %d lines, budget %d; give the second subject in it a file of its own", n, fileLines)
		}
	}
}

// functionsFitOnAScreen keeps one level of story in each.
func functionsFitOnAScreen(t tree, report report) {
	for f, d := range t.functions() {
		if n := f.line(d.End()) - f.line(d.Pos()) + 1; n > functionLines {
			report(f.at(d), "%s has %d lines, budget %d; name its paragraphs and make them functions", d.Name.Name, n, functionLines)
		}
	}
}

// functions yields each function that is not in a test.
func (t tree) functions() iter.Seq2[*file, *ast.FuncDecl] {
	return func(yield func(*file, *ast.FuncDecl) bool) {
		for _, f := range t.written() {
			for _, decl := range f.syntax.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && !yield(f, d) {
					return
				}
			}
		}
	}
}

// nestingIsShallow: who reads the innermost line must remember every condition around it.
func nestingIsShallow(t tree, report report) {
	for f, d := range t.functions() {
		if at, depth := deepest(d); depth > nesting {
			report(f.at(at), "%s nests %d deep, budget %d; return early, or make the inner part a function", d.Name.Name, depth, nesting)
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
func signaturesAreShort(t tree, report report) {
	for f, d := range t.functions() {
		if n := arguments(f, d.Type); n > parameters {
			report(f.at(d), "%s takes %d values beside the context, budget %d; make them a struct", d.Name.Name, n, parameters)
		}
		if n := d.Type.Results.NumFields(); n > results {
			report(f.at(d), "%s returns %d values, budget %d; make them a struct", d.Name.Name, n, results)
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
func noBooleanArguments(t tree, report report) {
	for f, d := range t.functions() {
		if !public(d) {
			continue
		}
		for _, p := range d.Type.Params.List {
			if id, ok := p.Type.(*ast.Ident); ok && id.Name == "bool" {
				report(f.at(p), "%s takes a bool; give the two cases a type with names", d.Name.Name)
			}
		}
	}
}

// interfacesAreSmall: the bigger the interface, the weaker the abstraction.
func interfacesAreSmall(t tree, report report) {
	for _, f := range t.written() {
		for n := range ast.Preorder(f.syntax) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > methods {
				report(f.at(spec), "%s has %d methods, budget %d; ask only for what its user calls", spec.Name.Name, i.Methods.NumFields(), methods)
			}
		}
	}
}

// noInit: nothing happens before main, and nothing by being imported.
func noInit(t tree, report report) {
	for f, d := range t.functions() {
		if d.Recv == nil && d.Name.Name == "init" {
			report(f.at(d), "init runs behind the reader's back; call it by name from compose")
		}
	}
}

// packagesSayLittle: a package is as easy to learn as its list of names is short.
func packagesSayLittle(t tree, report report) {
	for _, p := range t.pkgs {
		var names []string
		for f := range p.written() {
			names = append(names, exported(f)...)
		}
		if n := len(names); n > exportedNames {
			report(p.dir, "exports %d names, budget %d; hide what only it uses, or part it: %q", n, exportedNames, names)
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

// testsDoNotSleep: a sleep is too long on a quiet machine and too short on a busy one. Within synctest, time is the test's own.
func testsDoNotSleep(t tree, report report) {
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if name, _ := internalName(p.dir); f.test || inTesting(name) {
				sleepless(f, report)
			}
		}
	}
}

func sleepless(f *file, report report) {
	if f.called("testing/synctest") != "" {
		return
	}
	for sel := range f.selectors("time") {
		if sel.Sel.Name == "Sleep" {
			report(f.at(sel), "a test sleeps; wait for the event or the condition, with a context that ends")
		}
	}
	for n := range ast.Preorder(f.syntax) {
		if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.ARROW && f.isAfter(u.X) && !f.inSelect(u) {
			report(f.at(u), "a test waits for time.After; wait for the event or the condition, with a context that ends")
		}
	}
}

// isAfter reports a call of time.After.
func (f *file) isAfter(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "After" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == f.called("time")
}

// inSelect reports a receive that is a case beside others: there it is a limit, not a wait.
func (f *file) inSelect(u *ast.UnaryExpr) bool {
	for n := range ast.Preorder(f.syntax) {
		if c, ok := n.(*ast.CommClause); ok && c.Comm != nil && c.Comm.Pos() <= u.Pos() && u.End() <= c.Comm.End() {
			return true
		}
	}
	return false
}
