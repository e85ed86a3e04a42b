package helm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// renderer is what a worker runs.
func renderer() Renderer {
	k := &kustomize.Renderer{Plain: plain.Renderer{}}
	out := Renderer{Builder: k}
	k.Charts = out
	return out
}

// requestOf reads a story's request, with the files below "in/".
func requestOf(t *testing.T, in golden.Files) render.Request {
	t.Helper()
	var r render.Request
	if err := yaml.UnmarshalStrict([]byte(in.Need(t, "request.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for name, text := range in {
		if name, isInput := strings.CutPrefix(name, "in/"); isInput {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	r.Files = tree{files}
	if c := clusterOf(t, in); c != nil {
		r.Lookup = c
	}
	return r
}

func TestCharts(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		res, err := renderer().Render(t.Context(), requestOf(t, in))
		if err != nil {
			if strings.Contains(err.Error(), "hunter22") {
				t.Error("a Secret's value is in the error")
			}
			return "error: " + err.Error()
		}
		var b strings.Builder
		if r := res.Release; r != nil {
			fmt.Fprintf(&b, "%s %d: %s %s %s, values %.15s\n", r.Step, r.Revision, r.Chart, r.Version, r.AppVersion, r.Config)
		}
		for _, o := range res.Objects {
			text, err := yaml.Marshal(o.Data)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "--- # %s:%d", o.File, o.Line)
			for _, s := range o.Sensitive {
				fmt.Fprintf(&b, " secret: %s", strings.Join(s, "."))
			}
			fmt.Fprintf(&b, "\n%s", text)
		}
		for _, o := range originsOf(res) {
			fmt.Fprintf(&b, "%s/%s .%s: %s of %s\n", o.Kind, o.Name, strings.Join(o.Field, "."), o.Key, strings.TrimSpace(strings.TrimSuffix(fmt.Sprintf("%s %s:%d", o.From, o.File, o.Line), " :0")))
		}
		for _, h := range hooksOf(res.Release) {
			fmt.Fprintf(&b, "hook %d: %s %v of %s, weight %d, %v\n", h.Index, h.Object.ID(), h.Events, h.Path, h.Weight, h.Policies)
		}
		return b.String()
	})
}

func originsOf(res render.Result) []release.Origin {
	if res.Release == nil {
		return nil
	}
	return res.Release.Origins
}

func hooksOf(r *release.Release) []hook.Hook {
	if r == nil {
		return nil
	}
	return r.Hooks
}

// again renders a request with the release that a former render gave as the stored one.
func again(t *testing.T, r render.Request, stored *release.Release, trust release.Trust) *release.Release {
	t.Helper()
	c := *r.Chart
	r.Chart = &c
	c.Newest, c.Past = &release.Stored{Text: stored.Text, Trust: trust}, stored.Revision
	res, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Objects) != 1 {
		t.Fatalf("%d objects", len(res.Objects))
	}
	if res.Release.Step == hook.Keep {
		res.Release.Text = stored.Text
	}
	return res.Release
}

func chartOf(template string) render.Request {
	return render.Request{Path: ".", Chart: &release.Request{Release: "r", Namespace: "n"}, Files: tree{fstest.MapFS{
		"Chart.yaml":         {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0}")},
		"templates/all.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: \"" + template + "\"}\n")},
	}}}
}

func TestAChartThatIsReleasedIsNotRenderedAgain(t *testing.T) {
	r := chartOf("{{ randAlphaNum 20 }}")
	first, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	next := again(t, r, first.Release, release.Trusted)
	if next.Step != hook.Keep || next.Revision != 1 {
		t.Errorf("%s %d: want the first release as it is", next.Step, next.Revision)
	}
	if next = again(t, r, first.Release, release.Foreign); next.Step != hook.Upgrade || next.Revision != 2 {
		t.Errorf("%s %d: a release that others may have changed and that is not what the chart gives is replaced", next.Step, next.Revision)
	}
	r.Chart.Values = []release.Values{{Text: "a: 1"}}
	if next = again(t, r, first.Release, release.Trusted); next.Step != hook.Upgrade || next.Revision != 2 {
		t.Errorf("%s %d: other values make another release", next.Step, next.Revision)
	}
}

func TestTheSameReleaseByOthersIsKept(t *testing.T) {
	r := chartOf("{{ .Release.Revision }} {{ .Release.IsInstall }}")
	first, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if next := again(t, r, first.Release, release.Foreign); next.Step != hook.Keep || next.Revision != 1 {
		t.Errorf("%s %d: want the release as it is", next.Step, next.Revision)
	}
}

// TestAReleaseOfHelmControllerIsKept: it has put marks on the objects before it stored them, and written them in its own form.
func TestAReleaseOfHelmControllerIsKept(t *testing.T) {
	r := chartOf("y")
	first, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	stored := *first.Release
	marked := "---\n# Source: c/templates/all.yaml\napiVersion: v1\ndata:\n  x: \"y\"\nkind: ConfigMap\nmetadata:\n  labels:\n    of: flux\n  name: c\n"
	stored.Text = withManifest(t, first.Release.Text, marked)
	if next := again(t, r, &stored, release.Foreign); next.Step != hook.Upgrade {
		t.Errorf("%s %d: a label of unknown origin makes another release", next.Step, next.Revision)
	}
	r.Chart.Marks.Labels = map[string]string{"of": "flux"}
	if next := again(t, r, &stored, release.Foreign); next.Step != hook.Keep || next.Revision != 1 {
		t.Errorf("%s %d: want the release as it is", next.Step, next.Revision)
	}
	stored.Text = withManifest(t, first.Release.Text, strings.Replace(marked, "x: \"y\"", "x: \"z\"", 1))
	if next := again(t, r, &stored, release.Foreign); next.Step != hook.Upgrade {
		t.Errorf("%s %d: another value makes another release", next.Step, next.Revision)
	}
}

// TestTheValuesOfTheFormerReleaseAreKept as helm upgrade --reuse-values keeps them: those of its chart, too, and not those of a release that has failed.
func TestTheValuesOfTheFormerReleaseAreKept(t *testing.T) {
	r := chartOf("{{ .Values.a }} {{ .Values.b }} {{ .Values.c }}")
	files := r.Files.(tree).MapFS
	files["values.yaml"] = &fstest.MapFile{Data: []byte("a: chart 1\nb: chart 1\nc: chart 1\n")}
	r.Chart.Values = []release.Values{{Text: "a: asked 1\nb: asked 1"}}
	first, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	files["values.yaml"] = &fstest.MapFile{Data: []byte("a: chart 2\nb: chart 2\nc: chart 2\n")}
	files["Chart.yaml"] = &fstest.MapFile{Data: []byte("{apiVersion: v2, name: c, version: 2.0.0}")}
	r.Chart.Values, r.Chart.Former = []release.Values{{Text: "b: asked 2"}}, release.KeepFormer
	second := again(t, r, first.Release, release.Trusted)
	if got := string(second.Text); second.Step != hook.Upgrade || !strings.Contains(got, "asked 1 asked 2 chart 1") {
		t.Errorf("%s: %s", second.Step, got)
	}
	for _, trust := range []release.Trust{release.Trusted, release.Foreign} {
		if third := again(t, r, second, trust); third.Step != hook.Keep || third.Config != second.Config {
			t.Errorf("%s %s, values %s: want the release as it is, with %s", trust, third.Step, third.Config, second.Config)
		}
	}
	c := *r.Chart
	r.Chart = &c
	c.Mode, c.Deployed, c.Values = release.Again, &release.Stored{Text: first.Release.Text}, nil
	if got := string(again(t, r, second, release.Trusted).Text); !strings.Contains(got, "asked 1 asked 1 chart 1") {
		t.Errorf("after a failure: %s", got)
	}
}

func withManifest(t *testing.T, text []byte, manifest string) []byte {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r["manifest"] = manifest
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestValuesHaveTheDigestOfHelmController: it is the SHA-256 of the values' YAML with its keys in order, and of nothing for none.
func TestValuesHaveTheDigestOfHelmController(t *testing.T) {
	for yaml, values := range map[string]map[string]any{
		"":                                      {},
		"a:\n- 1\n- b: 2\n  c: null\nb: true\n": {"b": true, "a": []any{json.Number("1"), map[string]any{"c": nil, "b": 2.0}}},
	} {
		if got, want := digestOf(values), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(yaml))); got != want {
			t.Errorf("%q: %s, want %s", yaml, got, want)
		}
	}
}

func TestAForeignReleaseThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"{", "{}", `{"chart":{}}`, `{"chart":{"metadata":{}},"version":-1}`, "[]", `{"chart":null,"version":1}`} {
		r := chartOf("x")
		r.Chart.Newest = &release.Stored{Text: []byte(text)}
		if _, err := renderer().Render(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the stored release") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzCharts(f *testing.F) {
	f.Add("name: c\nversion: 1.0.0\napiVersion: v2", "kind: X", "a: {b: 1}", `{"type":"object"}`)
	f.Add("{}", "{{ include \"x\" . }}", "- 1", `{"$ref":"#"}`)
	f.Add("name: c\nversion: 1.0.0\napiVersion: v2", "kind: X\nx: "+passwordChart, "a: {b: 1}", "{}")
	f.Add("name: c\nversion: 1.0.0\napiVersion: v2", `{{ range (lookup "v1" "Secret" "" "").items }}{{ fail .data.password }}{{ end }}`, "a: {b: 1}", "{}")
	f.Fuzz(func(t *testing.T, chart, template, values, schema string) {
		r := render.Request{Path: ".", Chart: &release.Request{Release: "r", Namespace: "n", Trace: true, Values: []release.Values{{Text: values, Secret: true}}}, Files: tree{fstest.MapFS{
			"Chart.yaml": {Data: []byte(chart)}, "templates/t.yaml": {Data: []byte(template)}, "values.schema.json": {Data: []byte(schema)},
		}}, Lookup: passwordCluster()}
		res, err := renderer().Render(t.Context(), r)
		if err == nil && !json.Valid(res.Release.Text) {
			t.Error("the release is no JSON")
		}
		if err != nil && strings.Contains(err.Error(), "hunter22") && !strings.Contains(template+values, "hunter22") {
			t.Error("what a Secret of the cluster holds is in the error")
		}
	})
}

// FuzzFilesOfValues looks for files by patterns: each that is found is one of the tree's, and is found once.
func FuzzFilesOfValues(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "**", "a/**/*.yaml", "{a,b}*", "a/[", "**/**/c*", "?", "[^a]*/{b", "a/*/../b*"} {
		f.Add(pattern)
	}
	files := fstest.MapFS{}
	for _, name := range []string{"a.yaml", "b.yaml", "a/c.yaml", "a/d/c.yaml", "a/d/e/f.json", "x/y/z"} {
		files[name] = &fstest.MapFile{Data: []byte("a: 1")}
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if !isPattern(pattern) || strings.Count(pattern, "*") > 20 {
			return
		}
		found, err := matchFiles(files, pattern)
		seen := map[string]bool{}
		for _, name := range found {
			if files[name] == nil || seen[name] {
				t.Errorf("%q: %q, %v", pattern, found, err)
			}
			seen[name] = true
		}
	})
}

var _ fs.FS = tree{}

// A stored chart has no dependencies: `helm get values --all` finds what they have by default in the chart's own values.
func TestTheStoredChartHasTheValuesOfItsDependencies(t *testing.T) {
	r := render.Request{Path: ".", Chart: &release.Request{Release: "r", Namespace: "n"}, Files: tree{fstest.MapFS{
		"Chart.yaml":              {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0, dependencies: [{name: sub, version: 1.x, import-values: [data]}, {name: idle, version: 1.x, condition: idle.enabled}]}")},
		"values.yaml":             {Data: []byte("{sub: {own: set}, idle: {enabled: false}}")},
		"templates/all.yaml":      {Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")},
		"charts/sub/Chart.yaml":   {Data: []byte("{apiVersion: v2, name: sub, version: 1.0.0}")},
		"charts/sub/values.yaml":  {Data: []byte("{image: nginx, exports: {data: {taken: \"yes\"}}}")},
		"charts/idle/Chart.yaml":  {Data: []byte("{apiVersion: v2, name: idle, version: 1.0.0}")},
		"charts/idle/values.yaml": {Data: []byte("{image: none}")},
	}}}
	res, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Chart struct{ Values map[string]any }
	}
	if err := json.Unmarshal(res.Release.Text, &stored); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"taken": "yes", "idle": map[string]any{"enabled": false},
		"sub": map[string]any{"own": "set", "image": "nginx", "exports": map[string]any{"data": map[string]any{"taken": "yes"}}, "global": map[string]any{}},
	}
	if diff := cmp.Diff(want, stored.Chart.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}
