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

// TestAReleaseInFluxsFormOfAVersionIsKept: Flux drops the "v" at the front of a version where it adds to it, which also changes what templates make of the
// version. Releases in which truce has left it stay as they are.
func TestAReleaseInFluxsFormOfAVersionIsKept(t *testing.T) {
	request := func(version, metadata string, names ...string) render.Request {
		return render.Request{Path: ".", Chart: &release.Request{Release: "r", Namespace: "n", Files: names, Metadata: metadata}, Files: tree{fstest.MapFS{
			"Chart.yaml": {Data: []byte("{apiVersion: v2, name: c, version: " + version + "}")}, "a.yaml": {Data: []byte("x: a")},
			"templates/all.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: \"{{ .Chart.Version }}\"}\n")},
		}}}
	}
	for name, c := range map[string]struct {
		of     render.Request
		stored string
		trust  release.Trust
		want   hook.Step
	}{
		"of a registry":                       {request("v1.2.3", "0123456789ab"), "1.2.3+0123456789ab", release.Foreign, hook.Keep},
		"with build metadata of its own":      {request("v1.2.3+b7", "0123456789ab"), "1.2.3+0123456789ab", release.Foreign, hook.Keep},
		"of truce, with a v":                  {request("v1.2.3", "0123456789ab"), "v1.2.3+0123456789ab", release.Trusted, hook.Keep},
		"of truce, with a v, not trusted":     {request("v1.2.3", "0123456789ab"), "v1.2.3+0123456789ab", release.Foreign, hook.Keep},
		"of another digest":                   {request("v1.2.3", "0123456789ab"), "1.2.3+ba9876543210", release.Foreign, hook.Upgrade},
		"with values files":                   {request("v1.2.3", "", "a.yaml"), "1.2.3+4", release.Foreign, hook.Keep},
		"with values files and its metadata":  {request("v1.2.3+b7", "", "a.yaml"), "1.2.3+4", release.Foreign, hook.Keep},
		"with values files, by revision":      {request("v1.2.3", "0123456789ab", "a.yaml"), "1.2.3+0123456789ab.4", release.Foreign, hook.Keep},
		"with values files, another version":  {request("v1.2.4", "", "a.yaml"), "1.2.3+4", release.Foreign, hook.Upgrade},
		"with values files, another revision": {request("v1.2.3", "0123456789ab", "a.yaml"), "1.2.3+ba9876543210.4", release.Foreign, hook.Upgrade},
		"without metadata":                    {request("v1.2.3", ""), "1.2.3", release.Foreign, hook.Upgrade},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := renderer().Render(t.Context(), c.of)
			if err != nil {
				t.Fatal(err)
			}
			stored, made := *first.Release, first.Release.Version
			stored.Text = []byte(strings.NewReplacer(`"version":"`+made+`"`, `"version":"`+c.stored+`"`, `x: \"`+made+`\"`, `x: \"`+c.stored+`\"`, `"truce.dev/values-files":"a.yaml"`, "").Replace(string(stored.Text)))
			if !strings.Contains(string(stored.Text), `x: \"`+c.stored+`\"`) {
				t.Fatalf("the stored release is not as it was meant: %s", stored.Text)
			}
			if got := again(t, c.of, &stored, c.trust); got.Step != c.want || got.Step == hook.Keep && got.Version != c.stored {
				t.Errorf("%s of version %s, want %s", got.Step, got.Version, c.want)
			}
		})
	}
}
