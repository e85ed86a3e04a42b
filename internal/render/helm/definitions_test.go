package helm

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTheDefinitionsOfAFileKeepTheirOrder, as they have it there: a map would give them in another order each time.
func TestTheDefinitionsOfAFileKeepTheirOrder(t *testing.T) {
	r := chartOf("x")
	var text, want strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: d%d.example.org}\n", i)
		fmt.Fprintf(&want, "d%d.example.org ", i)
	}
	r.Files.(tree).MapFS["crds/all.yaml"] = &fstest.MapFile{Data: []byte(text.String())}
	res, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, o := range res.Objects {
		if o.Definition {
			got.WriteString(o.Data.Name() + " ")
		}
	}
	if got.String() != want.String() {
		t.Errorf("they are %s, want %s", got.String(), want.String())
	}
}
