package explain

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/render/desired"
)

func TestALineNamesTheVariableThatItsValueComesFrom(t *testing.T) {
	place := desired.Place{File: "web.yaml", Line: 5, Means: desired.ByManifest, Exact: true, Variable: "key count of ConfigMap flux-system/vars"}
	base := desired.Place{File: "base.yaml", Line: 2, Means: desired.ByManifest}
	var l Line
	f := Field{Places: []desired.Place{base, place}, Wins: 1}
	l.byGit(f, place)
	if want := "with key count of ConfigMap flux-system/vars, over base.yaml:2"; l.Note != want || l.How != "manifest" {
		t.Errorf("%s: %q, want %q", l.How, l.Note, want)
	}
	if got := describeMeans(place); !strings.Contains(got, "manifest, with key count of ConfigMap") {
		t.Error(got)
	}
	if _, ok := f.exact(); ok {
		t.Error("the line of an expression is offered as the one to edit")
	}
}
