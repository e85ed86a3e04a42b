package architecture

import (
	"go/ast"
	"strings"
)

// deleters are the files that may delete an object of the API server, or a record of one, each with what it deletes.
var deleters = map[string]string{
	"internal/apply/ssa/ssa.go":                       "the request for what an app describes or has made: the others of apply call it",
	"internal/apply/apply.go":                         "a prune, and an object that is made again (ExecuteStep)",
	"internal/apply/hooks/hooks.go":                   "objects of hooks",
	"internal/apply/releases/releases.go":             "the Secrets of stored Helm releases",
	"internal/apply/tenancy/tenancy.go":               "passes it on to the writer of an account",
	"internal/apply/remote/access.go":                 "passes it on to the writer of another cluster",
	"internal/apply/inventory/configmap/configmap.go": "an app's inventory",
	"internal/reconcile/prune.go":                     "an app's inventory, of an app that is gone",
	"internal/reconcile/remove.go":                    "an app's inventory, at the end of the app",
	"internal/reconcile/adopt.go":                     "an app's inventory, of an app that is handed back",
	"internal/controller/generated.go":                "ExternalArtifacts that an ArtifactGenerator no longer names",
	"internal/controller/witness/keep.go":             "the witness's own webhook configuration",
	"internal/view/edit.go":                           "an app's custom resource: truce app delete",
	"internal/view/uninstall/cluster.go":              "truce's own installation: truce uninstall",
}

// deletesAreListed holds the deletes of the product to deleters: a call of a method Delete, or DeleteCollection, that gets a context.
func deletesAreListed(t tree, report report) {
	for p, f := range t.written() {
		if _, ok := product(p); !ok || deleters[f.path] != "" {
			continue
		}
		for n := range ast.Preorder(f.syntax) {
			if call, ok := n.(*ast.CallExpr); ok && deletes(call) {
				report(f.at(call), "a delete; say what it deletes in deleters, and in ARCHITECTURE.md")
			}
		}
	}
}

func deletes(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(sel.Sel.Name, "Delete") || len(call.Args) == 0 {
		return false
	}
	return isContext(call.Args[0])
}

// isContext reports whether an argument is a context by its name, or made in place: ctx, r.ctx, r.Context(), context.WithoutCancel(ctx).
func isContext(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(e.Name), "ctx")
	case *ast.SelectorExpr:
		return isContext(e.Sel)
	case *ast.CallExpr:
		made, ok := e.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := made.X.(*ast.Ident)
		return ok && from.Name == "context" || made.Sel.Name == "Context"
	}
	return false
}
