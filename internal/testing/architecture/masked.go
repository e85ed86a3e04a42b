package architecture

import (
	"go/ast"
	"slices"
	"strings"
)

// showing are the packages that print, encode or send to people, those below them too.
var showing = []string{"cli", "web", "report", "lint/output"}

// wholeObjects are the files of such packages that work with objects as the cluster or a file has them, each with its reason.
var wholeObjects = map[string]string{
	"internal/cli/clusterwatcher.go":           "follows the demo's Deployments and autoscalers for the tour",
	"internal/cli/tour.go":                     "changes one of them",
	"internal/cli/tourfight.go":                "reads an autoscaler's target",
	"internal/cli/create.go":                   "reads a manifest of an app that is to be created",
	"internal/cli/edit.go":                     "compares custom resources of an app, which hold no values of Secrets",
	"internal/cli/export.go":                   "prints custom resources of an app, without credentials",
	"internal/report/notify/payload/commit.go": "evaluates a Provider's expression on custom resources, which hold no values of Secrets",
	"internal/cli/up/install.go":               "installs truce's own definitions",
	"internal/cli/up/resources.go":             "creates the demo's custom resources",
}

// rawValuesStayHidden keeps a value that is not masked yet (redact.Raw) inside the packages that judge it, and a whole object out of those that show
// something: they take a redact.Shown, which model/redact alone makes.
func rawValuesStayHidden(t tree, report report) {
	for p, f := range t.written() {
		name, ok := product(p)
		if !ok || name == "model/redact" {
			continue
		}
		if name != "decide" && !strings.HasPrefix(name, "decide/") {
			f.revealsNothing(p, report)
		}
		if _, excused := wholeObjects[f.path]; shows(name) && !excused {
			f.takesNoWholeObject(p, report)
		}
		f.takesNothingForMasked(p, report)
	}
}

func (f *file) takesNothingForMasked(p *pkg, report report) {
	for n := range ast.Preorder(f.syntax) {
		if call, ok := n.(*ast.CallExpr); ok && f.isNameOf(call.Fun, module+"internal/model/redact", "Shown") {
			report(f.at(call), "%s takes an object for masked; have a redact.Mask mask it", p.dir)
		}
	}
}

func (f *file) revealsNothing(p *pkg, report report) {
	for n := range ast.Preorder(f.syntax) {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Reveal" {
			report(f.at(sel), "%s reveals a value that is not masked; only decide may: show it by redact.Mask", p.dir)
		}
	}
}

func (f *file) takesNoWholeObject(p *pkg, report report) {
	for sel := range f.selectors(module + "internal/model/object") {
		if sel.Sel.Name == "Object" {
			report(f.at(sel), "%s shows something, and names a whole object; take a redact.Shown", p.dir)
		}
	}
}

func shows(name string) bool {
	return slices.ContainsFunc(showing, func(s string) bool { return name == s || strings.HasPrefix(name, s+"/") })
}

// isNameOf reports whether an expression is a name of a package.
func (f *file) isNameOf(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == f.called(pkg)
}
