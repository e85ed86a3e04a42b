package argocd

import (
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

// Helm writes tags with an underscore for the plus of a version: ranges read them so, and one version is asked for so.
func TestTagsOfChartsHaveAnUnderscoreForThePlus(t *testing.T) {
	from := applicationSource{RepoURL: "registry.example.com/charts", Chart: "web"}
	for revision, want := range map[string]source.Ref{"1.*": {SemVer: "1.*"}, "1.2.3+b7": {Any: "1.2.3_b7"}} {
		if s := chartSpecOf(from, revision, nil); !s.PlusTags || s.Ref != want || s.URL != "oci://registry.example.com/charts/web" {
			t.Errorf("%s: %+v", revision, s)
		}
	}
}
