package helm

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
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

// TestEachActionHasAPolicyForDefinitions: that of the action which made a release holds while it is at rest. As in Helm a rollback changes no definition, not
// while it is under way (replayed) and not behind that.
func TestEachActionHasAPolicyForDefinitions(t *testing.T) {
	for _, c := range []struct {
		install, upgrade release.CRDs
		want             string
	}{
		{release.CreateCRDs, release.SkipCRDs, "created true, created, left out false, left out, left out"},
		{release.SkipCRDs, release.CreateCRDs, "left out false, left out, created true, created, created"},
		{release.SkipCRDs, release.ReplaceCRDs, "left out false, left out, replaced true, created, created"},
		{release.ReplaceCRDs, release.CreateCRDs, "replaced true, replaced, created true, created, created"},
	} {
		r := chartOf("{{ .Capabilities.APIVersions.Has \"example.org/v1/D\" }}")
		r.Chart.CRDs, r.Chart.UpgradeCRDs = c.install, c.upgrade
		r.Files.(tree).MapFS["crds/d.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ds.example.org}\n" +
			"spec: {group: example.org, names: {kind: D}, versions: [{name: v1, served: true}]}\n")}
		render := func() (*release.Release, string) {
			res, err := renderer().Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			how := "left out"
			for _, o := range res.Objects {
				ssa, isCreated := o.Data.Annotation(createOnly)
				switch {
				case o.Definition && isCreated:
					how = map[string]string{"IfNotPresent": "created"}[ssa]
				case o.Definition:
					how = "replaced"
				case res.Release.Step != hook.Keep:
					how += " " + o.Data.StringAt("data", "x")
				}
			}
			return res.Release, how
		}
		first, installed := render()
		r.Chart.Past, r.Chart.Newest = 1, &release.Stored{Text: first.Text, Trust: release.Trusted}
		_, atRest := render()
		r.Chart.Past, r.Chart.Newest = 3, &release.Stored{Text: rollbackTo(t, first.Text), Trust: release.Trusted}
		_, rolledBack := render()
		r.Chart.Mode = release.Replay
		_, replayed := render()
		r.Chart.Mode = release.Wanted
		r.Chart.Values = []release.Values{{Text: "a: 1"}}
		_, upgraded := render()
		if got := installed + ", " + atRest + ", " + upgraded + ", " + rolledBack + ", " + replayed; got != c.want {
			t.Errorf("install %q, upgrade %q: %s, want %s", c.install, c.upgrade, got, c.want)
		}
	}
}

// rollbackTo is the third release, which makes the first one again.
func rollbackTo(t *testing.T, first []byte) []byte {
	t.Helper()
	text, err := releases.RollbackTo(first, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
