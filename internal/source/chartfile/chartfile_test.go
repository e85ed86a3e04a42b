package chartfile

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

func artifactOf(version string) source.Artifact {
	return source.Artifact{Revision: "main@sha1:0123456789abcdef", Commit: "0123456789abcdef", Files: given.FilesOf(map[string]string{
		"charts/web/Chart.yaml":       "apiVersion: v2\nname: web\nversion: " + version + "\n",
		"charts/web/values-prod.yaml": "a: 1\n",
		"prod.yaml":                   "a: 2\n",
		"broken/Chart.yaml":           "name: [",
		"nameless/Chart.yaml":         "version: 1.0.0",
		"versionless/Chart.yaml":      "name: a\nversion: first",
		"large/Chart.yaml":            strings.Repeat("#", longestFile+1),
		"empty/README.md":             "",
		"web.tgz":                     string(charttest.Package("web", version, map[string]string{"charts/web/Chart.yaml": "name: none"})),
		"none.tgz":                    string(charttest.Package("web", version, map[string]string{"Chart.yaml": "name: ["})),
		"other.tgz":                   "none",
		"windows.tgz":                 string(ocitest.Archive(map[string]string{`web\Chart.yaml`: "name: web\nversion: 1.2.3\n"})),
		"dotted.tgz":                  string(ocitest.Archive(map[string]string{"./web/Chart.yaml": "name: web\nversion: 1.2.3\n"})),
	})}
}

// Helm writes tags with an underscore for the plus of a version: ranges read them so, and one version is asked for so.
func TestTagsOfChartsHaveAnUnderscoreForThePlus(t *testing.T) {
	registry := source.Spec{Kind: source.OCI, URL: "oci://registry.example.com/charts"}
	if s := ChartSpec(registry, "web", "1.x"); !s.PlusTags || s.Ref != (source.Ref{SemVer: "1.x"}) {
		t.Errorf("%+v", s)
	}
	if s := ChartSpec(registry, "web", "1.2.3+b7"); s.Ref != (source.Ref{Tag: "1.2.3_b7"}) {
		t.Errorf("%+v", s)
	}
}

func TestTheArtifactOfAHelmChart(t *testing.T) {
	in := []string{"charts/web/values-prod.yaml", "prod.yaml"}
	for name, c := range map[string]struct {
		choice   Choice
		revision string
		values   []string
		reason   source.Reason
	}{
		"by the version of the chart":     {choice: Choice{Directory: "charts/web"}, revision: "1.2.3"},
		"by the revision of the source":   {choice: Choice{Directory: "charts/web", ByRevision: true}, revision: "1.2.3+0123456789ab"},
		"with values files":               {choice: Choice{Directory: "charts/web", Values: in, Generation: 7}, revision: "1.2.3+7", values: in},
		"with values files, by revision":  {choice: Choice{Directory: "charts/web", Values: in, Generation: 7, ByRevision: true}, revision: "1.2.3+0123456789ab.7", values: in},
		"a values file that is not there": {choice: Choice{Directory: "charts/web", Values: []string{"a.yaml"}}, reason: source.ValuesFiles},
		"one that is left out":            {choice: Choice{Directory: "charts/web", Values: []string{"a.yaml", "prod.yaml"}, SkipMissing: true}, revision: "1.2.3+0", values: in[1:]},
		"a values file that is no file":   {choice: Choice{Directory: "charts/web", Values: []string{"charts"}}, reason: source.ValuesFiles},
		"a packaged chart":                {choice: Choice{Directory: "web.tgz", ByRevision: true, Values: in[1:], Generation: 2}, revision: "1.2.3+0123456789ab.2", values: in[1:]},
		"a packaged chart of Windows":     {choice: Choice{Directory: "windows.tgz"}, revision: "1.2.3"},
		"one that Helm does not read":     {choice: Choice{Directory: "dotted.tgz"}, reason: source.ChartReference},
		"a packaged one that is broken":   {choice: Choice{Directory: "none.tgz"}, reason: source.ChartReference},
		"a file that is no packaged one":  {choice: Choice{Directory: "other.tgz"}, reason: source.ChartReference},
		"a directory that is no chart":    {choice: Choice{Directory: "empty"}, reason: source.ChartReference},
		"a directory that is not there":   {choice: Choice{Directory: "nowhere"}, reason: source.ChartReference},
		"a Chart.yaml that is no YAML":    {choice: Choice{Directory: "broken"}, reason: source.ChartReference},
		"a chart without a name":          {choice: Choice{Directory: "nameless"}, reason: source.ChartReference},
		"a chart without a version":       {choice: Choice{Directory: "versionless"}, reason: source.ChartReference},
		"a Chart.yaml that is too large":  {choice: Choice{Directory: "large"}, reason: source.ChartReference},
		"an archive of several charts":    {choice: Choice{}, reason: source.ChartReference},
	} {
		got, err := c.choice.Of(artifactOf("1.2.3"))
		var known *source.Error
		switch errors.As(err, &known); {
		case c.reason != "" && (known == nil || known.Reason != c.reason):
			t.Errorf("%s: %v, want the reason %s", name, err, c.reason)
		case c.reason == "" && (err != nil || got.Revision != c.revision || !cmp.Equal(got.Chart.Values, c.values)):
			t.Errorf("%s: %s of %v, %v, want %s of %v", name, got.Revision, got.Chart.Values, err, c.revision, c.values)
		}
	}
}

// TestAVersionWithMetadataHasNoV: that is how Flux writes it. A version without metadata stays as its Chart.yaml has it.
func TestAVersionWithMetadataHasNoV(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3+7", "1.2.3+b1": "1.2.3+7", "v1.2.3-rc.1+b1": "1.2.3-rc.1+7"} {
		got, err := Choice{Directory: "charts/web", Values: []string{"prod.yaml"}, Generation: 7}.Of(artifactOf(version))
		if err != nil || got.Revision != want || got.Chart.Version != version {
			t.Errorf("%s with values files: %s of %s, %v, want %s", version, got.Revision, got.Chart.Version, err, want)
		}
		if got, err := (Choice{Directory: "charts/web"}).Of(artifactOf(version)); err != nil || got.Revision != version {
			t.Errorf("%s: %s, %v", version, got.Revision, err)
		}
	}
	for other, same := range map[string]bool{"1.2.3+7": true, "v1.2.3+7": true, "v1.2.3+8": false, "1.2.3": false, "v1.2.4+7": false} {
		if IsSameVersion("v1.2.3+7", other) != same {
			t.Errorf("v1.2.3+7 and %s: the same is %t, want %t", other, !same, same)
		}
	}
}

// TestAnotherCommitIsAnotherChartByItsVersion keeps a chart until its version, or the digest of its files, is another one.
func TestAnotherCommitIsAnotherChartByItsVersion(t *testing.T) {
	of := func(c Choice, a source.Artifact) source.Artifact {
		t.Helper()
		out, err := c.Of(a)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	next := artifactOf("1.2.3")
	next.Files.(given.Tree).Put("charts/web/values-prod.yaml", "a: 3\n")
	elsewhere := artifactOf("1.2.3")
	elsewhere.Files.(given.Tree).Put("prod.yaml", "a: 3\n")
	byVersion, byRevision := Choice{Directory: "charts/web"}, Choice{Directory: "charts/web", ByRevision: true}
	was := of(byVersion, artifactOf("1.2.3"))
	if now := of(byVersion, next); now.Digest == was.Digest || !byVersion.IsKept(was, now) {
		t.Errorf("of the same version: digests %s and %s, kept: %t", was.Digest, now.Digest, byVersion.IsKept(was, now))
	}
	if now := of(byVersion, artifactOf("1.2.4")); byVersion.IsKept(was, now) {
		t.Error("another version is not taken")
	}
	if now := of(byRevision, next); byRevision.IsKept(of(byRevision, artifactOf("1.2.3")), now) {
		t.Error("another revision is not taken")
	}
	if now := of(byVersion, elsewhere); now.Digest != was.Digest {
		t.Error("a file outside of the chart is a part of it")
	}
	if byVersion.IsKept(source.Artifact{}, was) {
		t.Error("nothing is kept instead of the first artifact")
	}
}

func FuzzReadMetadata(f *testing.F) {
	for _, text := range []string{"name: web\nversion: 1.2.3\n", "name: &a [*a]", "{}", "\x00", "name: a\nversion: 1\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ReadMetadata(fstest.MapFS{"a/Chart.yaml": {Data: data}}, "a")
		if err == nil && (got.Name == "" || got.Version == "") {
			t.Errorf("%+v is taken for a chart", got)
		}
	})
}
