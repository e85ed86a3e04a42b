package discover_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAUnitMayReadWhatItsKustomizationsLeadTo: through bases, components, patches and generators, and in a directory without a kustomization all.
func TestAUnitMayReadWhatItsKustomizationsLeadTo(t *testing.T) {
	files := given.Files()
	files.Put("dev/kustomization.yaml", "resources: [../base, plain, 'https://git.example/o/r?ref=v1']\npatches: [{path: p.yaml}]\n")
	files.Put("base/kustomization.yaml", "resources: [web.yaml, ../dev]\ncomponents: [../part]\nconfigMapGenerator: [{name: c, files: [key=c.txt]}]\n")
	files.Put("part/kustomization.yaml", "kind: Component\npatches: [{path: q.yaml}]\n")
	files.Put("dev/plain/sub/kustomization.yaml", "resources: [../../../far/x.yaml]\n")
	for _, name := range []string{"dev/p.yaml", "dev/other.yaml", "dev/plain/a.yaml", "base/web.yaml", "base/c.txt", "part/q.yaml", "far/x.yaml", "far/y.yaml", "extra/e.yaml"} {
		files.Put(name, "a: b\n")
	}
	dev := discover.Unit{App: app.App{Path: "./dev", Overlay: overlay.Overlay{Components: []string{"../extra"}}}}
	all := discover.Unit{App: app.App{Path: "."}}
	chart := discover.Unit{App: app.App{Release: &release.Spec{}}, Chart: &release.Request{Files: []string{"far/y.yaml"}, Values: []release.Values{{File: "far/x.yaml"}}}}
	for file, want := range map[string][3]bool{
		"dev/kustomization.yaml":  {true, true, false},
		"dev/p.yaml":              {true, true, false},
		"dev/other.yaml":          {false, true, false},
		"dev/plain/a.yaml":        {true, true, false},
		"base/kustomization.yaml": {true, true, false},
		"base/web.yaml":           {true, true, false},
		"base/c.txt":              {true, true, false},
		"part/q.yaml":             {true, true, false},
		"far/x.yaml":              {true, true, true},
		"far/y.yaml":              {false, true, true},
		"extra/e.yaml":            {true, true, false},
	} {
		got := [3]bool{dev.MayRead(files)(file), all.MayRead(files)(file), chart.MayRead(files)(file)}
		if got != want {
			t.Errorf("%s: may be read by dev, all, chart: %v, want %v", file, got, want)
		}
	}
}
