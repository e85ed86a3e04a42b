package chartfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/source"
)

// twice depends on one chart twice. Of it twiceLock is what helm dependency update of Helm 4 has written.
const (
	twice = `apiVersion: v2
name: web
version: 0.1.0
dependencies:
- name: lib
  version: 1.x
  repository: file://../lib
  condition: lib.enabled
  tags: [a, b]
  import-values:
  - data
  - child: x
    parent: y
- {name: lib, version: 1.x, repository: "file://../lib", alias: second}
`
	twiceLock = `dependencies:
- name: lib
  repository: file://../lib
  version: 1.2.0
- name: lib
  repository: file://../lib
  version: 1.2.0
digest: sha256:7de765821964dc7c7c241c3ce2b0930893e9b3dd959fe14b80f33fa4de99f138
generated: "2026-01-02T03:04:05.6Z"
`
)

func chartNaming(dependency string) string {
	return "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- " + dependency + "\n"
}

func TestDependenciesThatAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // each as NAME VERSION REPOSITORY
		fails string
	}{
		"none is named":               {files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n"}},
		"as the lock file has them":   {files: map[string]string{"Chart.yaml": twice, "Chart.lock": twiceLock}, want: "lib 1.2.0 file://../lib"},
		"without a lock file":         {files: map[string]string{"Chart.yaml": twice}, want: "lib 1.x file://../lib"},
		"a lock file of other ones":   {files: map[string]string{"Chart.yaml": strings.ReplaceAll(twice, "1.x", "2.x"), "Chart.lock": twiceLock}, fails: "Chart.lock is out of sync with Chart.yaml"},
		"a broken lock file":          {files: map[string]string{"Chart.yaml": twice, "Chart.lock": "dependencies: ["}, fails: "read web/Chart.lock"},
		"all are there":               {files: map[string]string{"Chart.yaml": twice, "Chart.lock": "dependencies: [", "charts/l/Chart.yaml": "name: lib\nversion: 1.0.0\n"}},
		"as an archive":               {files: map[string]string{"Chart.yaml": twice, "charts/lib-1.2.0.tgz": ""}},
		"another one as an archive":   {files: map[string]string{"Chart.yaml": twice, "charts/lib-common-1.2.0.tgz": ""}, want: "lib 1.x file://../lib"},
		"an archive of any name":      {files: map[string]string{"Chart.yaml": chartNaming(`{name: a, version: 1.x}`), "charts/vendored.tgz": ""}},
		"without a semantic version":  {files: map[string]string{"Chart.yaml": chartNaming(`{name: a, version: 1.x}`), "charts/a/Chart.yaml": "name: a\nversion: first\n"}},
		"of Helm 2":                   {files: map[string]string{"Chart.yaml": "apiVersion: v1\nname: web\nversion: 0.1.0\n", "requirements.yaml": "dependencies:\n- {name: a, version: 1.x, repository: https://charts.example}\n"}, want: "a 1.x https://charts.example"},
		"the name of a repository":    {files: map[string]string{"Chart.yaml": chartNaming(`{name: a, version: 1.x, repository: "@stable"}`)}, fails: "write its URL"},
		"another form of such a name": {files: map[string]string{"Chart.yaml": chartNaming(`{name: a, version: 1.x, repository: "alias:stable"}`)}, fails: "write its URL"},
		"no repository":               {files: map[string]string{"Chart.yaml": chartNaming(`{name: a, version: 1.x}`)}, fails: "commit the chart to charts/a"},
		"a path as a name":            {files: map[string]string{"Chart.yaml": chartNaming(`{name: ../a, repository: https://charts.example}`)}, fails: "no name of a chart"},
	} {
		t.Run(name, func(t *testing.T) {
			in := fstest.MapFS{}
			for file, text := range c.files {
				in["web/"+file] = &fstest.MapFile{Data: []byte(text)}
			}
			found, err := MissingDependencies(in, "web")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want one that says %q", err, c.fails)
				}
				return
			}
			var got []string
			for _, d := range found {
				got = append(got, fmt.Sprintf("%s %s %s", d.Name, d.Version, d.Repository))
			}
			if err != nil || strings.Join(got, ", ") != c.want {
				t.Errorf("missing: %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestAChartWhoseDependenciesCannotBeBroughtIsRefused: repositories are not asked.
func TestAChartWhoseDependenciesCannotBeBroughtIsRefused(t *testing.T) {
	for dependency, fails := range map[string]string{
		`{name: a, version: 1.x, repository: "@stable"}`:                "write its URL",
		`{name: lib, version: 1.x, repository: "file://../../lib"}`:     "does not lead to a directory",
		`{name: lib, version: 2.x, repository: "file://../lib"}`:        "the chart there has the version 1.0.0, which is not 2.x",
		`{name: a, version: 1.x, repository: "file://../lib"}`:          `the chart there is called "lib"`,
		`{name: lib, version: 1.x, repository: "file://../none"}`:       "there is no chart",
		`{name: lib, version: 1.x, repository: "file://../lib"}`:        "",
		`{name: a, version: 1.x, repository: "https://charts.example"}`: "",
	} {
		in := fstest.MapFS{"web/Chart.yaml": {Data: []byte(chartNaming(dependency))}, "lib/Chart.yaml": {Data: []byte("apiVersion: v2\nname: lib\nversion: 1.0.0\n")}}
		err := checkDependencies(in, "web")
		var refused *source.Error
		switch {
		case fails == "" && err != nil:
			t.Errorf("%s: %v", dependency, err)
		case fails != "" && (!errors.As(err, &refused) || refused.Reason != source.DependencyBuild || !strings.Contains(err.Error(), fails)):
			t.Errorf("%s: error %v, want one that says %q", dependency, err, fails)
		}
	}
}

func TestLocalDependenciesStayInTheSource(t *testing.T) {
	for repository, want := range map[string]string{
		"file://../lib": "charts/lib", "file://sub": "charts/web/sub", "file://../../lib/": "lib", "file://../../../lib": "", "file:///etc": "", "file://": "", "file://../../..": "",
	} {
		if got, err := (Dependency{Repository: repository}).Local("charts/web"); got != want || (err == nil) != (want != "") {
			t.Errorf("%s leads to %q, %v, want %q", repository, got, err, want)
		}
	}
}

func TestVersionsThatADependencyAdmits(t *testing.T) {
	for _, c := range []struct {
		wanted, version string
		admits, exact   bool
	}{{"1.x", "1.2.3", true, false}, {"1.x", "2.0.0", false, false}, {"", "0.1.0", true, false}, {"1.2.3", "1.2.3", true, true}, {"v1.2.3", "1.2.3", true, true}, {"no range", "1.0.0", false, false}} {
		d := Dependency{Version: c.wanted}
		if d.Admits(c.version) != c.admits || d.IsExact() != c.exact {
			t.Errorf("%q admits %s: %v, is exact: %v", c.wanted, c.version, d.Admits(c.version), d.IsExact())
		}
	}
}

func FuzzDependencies(f *testing.F) {
	f.Add(twice, twiceLock)
	f.Add(chartNaming(`{name: a, repository: "@x"}`), "")
	f.Fuzz(func(t *testing.T, chart, lock string) {
		found, _ := MissingDependencies(fstest.MapFS{"web/Chart.yaml": {Data: []byte(chart)}, "web/Chart.lock": {Data: []byte(lock)}}, "web")
		for _, d := range found {
			if dir, err := d.Local("web"); d.IsLocal() && err == nil && strings.HasPrefix(dir, "..") {
				t.Errorf("%q leads to %s", d.Repository, dir)
			}
			_ = d.Admits("1.0.0")
		}
	})
}
