package view

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
)

func TestLocalFilesAreInThePlaceOfOneSource(t *testing.T) {
	git := func(url string, filesOnly bool) app.Part {
		return app.Part{Source: app.SourceKey{Kind: "Repository", Name: url}, FilesOnly: filesOnly}
	}
	chart := app.Part{Source: app.SourceKey{Kind: "Repository", Name: "charts#chart=web"}, Field: "spec.sources[0]", IsPackaged: true}
	for name, c := range map[string]struct {
		parts    []app.Part
		position int
		want     int
		why      string
	}{
		"the values beside a chart":       {parts: []app.Part{chart, git("values", true)}, want: 1},
		"what is rendered beside values":  {parts: []app.Part{git("one", true), git("one", false)}, want: 1},
		"two repositories":                {parts: []app.Part{git("one", false), git("two", true)}, why: "1 for one, 2 for two"},
		"two paths of one":                {parts: []app.Part{git("one", false), git("one", false)}, why: "--source-positions"},
		"charts alone":                    {parts: []app.Part{chart, chart}, why: "no directory"},
		"named":                           {parts: []app.Part{git("one", false), git("two", true)}, position: 2, want: 1},
		"named, and there is none":        {parts: []app.Part{git("one", false)}, position: 2, why: "has 1 sources: 2 is the position of none"},
		"named, and it is a chart's":      {parts: []app.Part{chart, git("values", true)}, position: 1, why: "spec.sources[0] is a chart"},
		"a position that is not possible": {parts: []app.Part{git("one", false)}, position: -1, why: "the position of none"},
	} {
		got, err := Preview{Position: c.position}.localPart(app.App{Parts: c.parts})
		if c.why == "" && (err != nil || got != c.want) || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %d %v, want %d %s", name, got, err, c.want, c.why)
		}
	}
}
