package architecture

import (
	"go/ast"
	"strings"
)

// rawValuesStayHidden keeps a value that is not masked yet (redact.Raw) inside the packages that judge it. Every other package gets the value from
// redact.Mask.
func rawValuesStayHidden(t tree, report report) {
	for p, f := range t.written() {
		name, ok := product(p)
		if !ok || name == "model/redact" || name == "decide" || strings.HasPrefix(name, "decide/") {
			continue
		}
		for n := range ast.Preorder(f.syntax) {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Reveal" {
				report(f.at(sel), "%s reveals a value that is not masked; only decide may: show it by redact.Mask", p.dir)
			}
		}
	}
}
