package upstream_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source/upstream"
)

func TestAChartOfARepositoryHasAPlaceOfItsOwn(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct {
		repository, name, version string
		want                      upstream.Address
		place, text               string
		pinned                    bool
	}{
		{"https://Charts.example/", "web", "1.2.0", upstream.Address{URL: "https://charts.example", Ref: "1.2.0", Dir: ".", Chart: "web"}, "https-chart/charts.example/web@1.2.0", "chart web 1.2.0 of https://charts.example", true},
		{"http://h:8080/a@b/c", "web", "", upstream.Address{URL: "http://h:8080/a@b/c", Dir: ".", Chart: "web"}, "http-chart/h:8080/a%40b/c/web@HEAD", "chart web of http://h:8080/a@b/c", false},
		{" oci://r.example/charts ", "w_e.b", ">=1 <2/3", upstream.Address{URL: "oci://r.example/charts", Ref: ">=1 <2/3", Dir: ".", Chart: "w_e.b"}, "oci-chart/r.example/charts/w_e.b@>=1 <2%2F3", "chart w_e.b >=1 <2/3 of oci://r.example/charts", false},
		{"https://h/100%25", "web", "v1.0.0-rc.1+b@d", upstream.Address{URL: "https://h/100%25", Ref: "v1.0.0-rc.1+b@d", Dir: ".", Chart: "web"}, "https-chart/h/100%2525/web@v1.0.0-rc.1+b@d", "chart web v1.0.0-rc.1+b@d of https://h/100%25", false},
		{"oci://h", "web", ":latest", upstream.Address{URL: "oci://h", Ref: ":latest", Dir: ".", Chart: "web"}, "oci-chart/h/web@:latest", "chart web:latest of oci://h", false},
		{"oci://h", "web", digest, upstream.Address{URL: "oci://h", Ref: digest, Dir: ".", Chart: "web"}, "oci-chart/h/web@" + digest, "chart web" + digest + " of oci://h", true},
	} {
		got, err := upstream.ParseChart(c.repository, c.name, c.version)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: %v\n%s", c.repository, c.name, err, diff)
		}
		if got.Name() != upstream.Directory+"/"+c.place || got.String() != c.text || got.IsPinned() != c.pinned {
			t.Errorf("%s, %s, pinned: %t", got.Name(), got, got.IsPinned())
		}
		below := got.Name() + "/templates/web.yaml"
		if top, shown := upstream.RepositoryRoot(below), upstream.DisplayName(below, 3, 0); top != got.Name() || shown != "templates/web.yaml:3 of "+c.text {
			t.Errorf("%s: %s, %s", below, top, shown)
		}
	}
	// A chart, and a repository of git with the same address, are two places.
	git, err := upstream.ParseAddress("https://charts.example/a/web?ref=1.2.0")
	chart, failed := upstream.ParseChart("https://charts.example/a", "web", "1.2.0")
	if err != nil || failed != nil || git.Name() == chart.Name() {
		t.Errorf("%s and %s, %v, %v", git.Name(), chart.Name(), err, failed)
	}
}

func TestWhatIsNoChartOfARepository(t *testing.T) {
	for _, c := range [][3]string{
		{"", "web"},
		{"charts.example", "web"},
		{"file:///etc", "web"},
		{"ssh://h/x", "web"},
		{"https://ada:secret@h", "web"},
		{"https://h?token=x", "web"},
		{"https://h/a//b", "web"},
		{"https://h/../b", "web"},
		{"https://h", ""},
		{"https://h", "../web"},
		{"https://h", "a/b"},
		{"https://h", "web@1"},
		{"https://h", "web", "a\nb"},
		{"https://h", "web", "HEAD"},
		{"https://h", "web", strings.Repeat("1", 300)},
	} {
		if got, err := upstream.ParseChart(c[0], c[1], c[2]); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %+v, %v", c, got, err)
		}
	}
}

func FuzzParseChart(f *testing.F) {
	f.Add("https://charts.example/a", "web", "1.x")
	f.Add("oci://r.example:5000/c", "web", ">=1 <2 || /@%")
	f.Fuzz(func(t *testing.T, repository, name, version string) {
		a, err := upstream.ParseChart(repository, name, version)
		if err != nil {
			return
		}
		if back, ok := upstream.AddressOf(a.Name()); !ok || back != a || upstream.RepositoryRoot(a.Name()) != a.Name() {
			t.Errorf("%+v stands at %q, which is %+v", a, a.Name(), back)
		}
	})
}
