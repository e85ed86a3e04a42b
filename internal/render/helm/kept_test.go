package helm

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// keptOfASecret is a request whose former release had a value of a Secret, which nothing that is asked for names any more.
func keptOfASecret(t *testing.T) render.Request {
	t.Helper()
	r := chartOf("")
	r.Files.(tree).MapFS["templates/all.yaml"] = &fstest.MapFile{Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: "{{ .Values.db.password }}", user: "{{ .Values.db.user }}", plain: "{{ .Values.plain }}", ofChart: "{{ .Values.ofChart }}"}
`)}
	r.Files.(tree).MapFS["values.yaml"] = &fstest.MapFile{Data: []byte("ofChart: chart\n")}
	r.Chart.Values = []release.Values{{Text: "db: {password: hunter22, user: app}", Secret: true, From: "Secret n/db key values.yaml"}, {Text: "plain: asked"}}
	first, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	c := *r.Chart
	r.Chart = &c
	c.Newest, c.Past = &release.Stored{Text: first.Release.Text, Trust: release.Trusted}, 1
	c.Values, c.Former = []release.Values{{Text: "db: {user: web}\nplain: asked"}}, release.KeepFormer
	return r
}

// TestAValueThatIsKeptOfASecretIsMasked: in a new release, in one that is as it was, and in one that is replayed.
func TestAValueThatIsKeptOfASecretIsMasked(t *testing.T) {
	r := keptOfASecret(t)
	for _, c := range []struct {
		name string
		mode release.Mode
		want [][]string
	}{
		{"a new release", release.Wanted, [][]string{{"data", "a"}}},
		{"the same release", release.Wanted, [][]string{{"data", "a"}}},
		{"a replayed release", release.Replay, [][]string{{}}},
	} {
		r.Chart.Mode = c.mode
		res, err := renderer().Render(t.Context(), r)
		if err != nil || len(res.Objects) != 1 {
			t.Fatalf("%s: %v, %d objects", c.name, err, len(res.Objects))
		}
		if diff := cmp.Diff(c.want, res.Objects[0].Sensitive); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if !slices.Contains(res.Secrets, "hunter22") {
			t.Errorf("%s: what is hidden in messages is %d texts, without the value", c.name, len(res.Secrets))
		}
		if c.mode == release.Wanted && res.Release.Text != nil {
			r.Chart.Newest, r.Chart.Past = &release.Stored{Text: res.Release.Text, Trust: release.Trusted}, res.Release.Revision
		}
	}
}

// TestAValueThatIsKeptHasTheReleaseAsItsOrigin, and another one has its own.
func TestAValueThatIsKeptHasTheReleaseAsItsOrigin(t *testing.T) {
	r := keptOfASecret(t)
	r.Chart.Trace = true
	res, err := renderer().Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range originsOf(res) {
		got[o.Field[len(o.Field)-1]] = fmt.Sprintf("%s of %s%s", o.Key, o.From, o.File)
	}
	want := map[string]string{
		"a": "db.password of release n/r.v1 (upgrade.preserveValues)", "user": "db.user of spec.values", "plain": "plain of spec.values", "ofChart": "ofChart of values.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
