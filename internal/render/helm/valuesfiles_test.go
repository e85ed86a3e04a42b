package helm

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
)

// Other valuesFiles are another release, though neither the chart's version nor spec.values change. Under Flux the version of the HelmChart does.
func TestOtherValuesFilesAreAnotherRelease(t *testing.T) {
	files := fstest.MapFS{
		"Chart.yaml": {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0}")}, "values.yaml": {Data: []byte("x: own")},
		"a.yaml": {Data: []byte("x: a")}, "b.yaml": {Data: []byte("x: b")},
		"templates/all.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: \"{{ .Values.x }}\", random: {{ randAlpha 9 }}}\n")},
	}
	request := func(names ...string) render.Request {
		return render.Request{Path: ".", Files: tree{files}, Chart: &release.Request{Release: "r", Namespace: "n", Files: names}}
	}
	first, err := renderer().Render(t.Context(), request("a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fluxes := *first.Release // as helm-controller stores it
	fluxes.Text = []byte(strings.NewReplacer(`"version":"1.0.0"`, `"version":"1.0.0+3"`, `"truce.dev/values-files":"a.yaml"`, "").Replace(string(first.Release.Text)))
	for name, c := range map[string]struct {
		stored *release.Release
		files  []string
		want   hook.Step
	}{
		"the same":              {first.Release, []string{"a.yaml"}, hook.Keep},
		"another":               {first.Release, []string{"b.yaml"}, hook.Upgrade},
		"one more":              {first.Release, []string{"a.yaml", "b.yaml"}, hook.Upgrade},
		"none":                  {first.Release, nil, hook.Upgrade},
		"the same of Flux":      {&fluxes, []string{"a.yaml"}, hook.Keep},
		"others than Flux used": {&fluxes, []string{"b.yaml"}, hook.Upgrade},
	} {
		t.Run(name, func(t *testing.T) {
			if got := again(t, request(c.files...), c.stored, release.Trusted); got.Step != c.want {
				t.Errorf("%s, want %s", got.Step, c.want)
			}
		})
	}
}
