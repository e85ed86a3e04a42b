package reconcile

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAChartIsSearchedForInAnArchiveAlone: in a source of files the chart is at the path that is asked for, also where that is the top of the source and has
// no chart any more.
func TestAChartIsSearchedForInAnArchiveAlone(t *testing.T) {
	of := func(names ...string) given.Tree {
		out := given.Files()
		for _, name := range names {
			out.Put(name, "{apiVersion: v2, name: web, version: 1.0.0}")
		}
		return out
	}
	for name, c := range map[string]struct {
		files  given.Tree
		path   string
		packed bool
		want   string
	}{
		"the top of a repository":            {files: of("Chart.yaml", "api/Chart.yaml"), path: ".", want: "."},
		"the chart was moved to a directory": {files: of("api/Chart.yaml", "web/Chart.yaml"), path: ".", want: "."},
		"a directory of a repository":        {files: of("api/Chart.yaml", "web/Chart.yaml"), path: "web", want: "web"},
		"a packaged chart":                   {files: of("charts/web-1.0.0.tgz"), path: "charts/web-1.0.0.tgz", want: "charts/web-1.0.0.tgz"},
		"a directory that is gone":           {files: of("api/Chart.yaml"), path: "web", want: "the path does not exist"},
		"an archive":                         {files: of("web/Chart.yaml", "web/charts/api/Chart.yaml"), path: ".", packed: true, want: "web"},
		"an archive with the chart on top":   {files: of("Chart.yaml", "charts/api/Chart.yaml"), path: ".", packed: true, want: "."},
		"an archive of several charts":       {files: of("api/Chart.yaml", "web/Chart.yaml"), path: ".", packed: true, want: `several Helm charts, in "api" and "web"`},
	} {
		got, err := chartDirectory(c.files, app.App{Path: c.path, Release: &release.Spec{Packed: c.packed}})
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
