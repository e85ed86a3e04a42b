package output_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/output"
)

func TestDifferencesAreATableForEachObject(t *testing.T) {
	var b bytes.Buffer
	if err := output.Differences(&b, "2 differences, 1 object that could not be compared", []output.Difference{
		{Object: "Deployment shop/web", Place: "web.yaml:1", Field: "spec.replicas", Git: "3", Live: "8", Writer: "kubectl (scale)", Verdict: "would be corrected"},
		{Object: "Deployment shop/web", Place: "web.yaml:1", Field: "spec.x", Git: `"a|b"`, Live: "<nil>", Writer: "@alice", Verdict: "would be corrected"},
		{Object: "Service shop/web", Verdict: "would be created"},
	}); err != nil {
		t.Fatal(err)
	}
	want := `<!-- truce diff -->
### truce diff

2 differences, 1 object that could not be compared.

#### <code>Deployment shop/web</code> web.yaml:1

| field | Git | live | set by | |
|---|---|---|---|---|
| <code>spec.replicas</code> | <code>3</code> | <code>8</code> | kubectl (scale) | would be corrected |
| <code>spec.x</code> | <code>"a&#124;b"</code> | <code>&lt;nil&gt;</code> | @<!-- -->alice | would be corrected |

#### <code>Service shop/web</code>

| field | Git | live | set by | |
|---|---|---|---|---|
| the object |  |  |  | would be created |
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
