package chart

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// versionsIn scans an index, and returns the versions of a chart.
func versionsIn(t *testing.T, index, name string) []string {
	t.Helper()
	out, err := scanIndex(strings.NewReader(index), name)
	if err != nil {
		t.Fatalf("%v in %.200q", err, index)
	}
	var all []string
	for _, v := range out.versions {
		all = append(all, v.Version)
	}
	return all
}

func TestOneChartOfAnIndex(t *testing.T) {
	const block = "apiVersion: v1\nentries:\n  # the charts\n  \"a\": # quoted\n  - version: 1.10\n    description: |\n      web:\n      - version: 6\n\n  web:\n    - version: 2.0.0\n      urls: [a.tgz]\n    - version: 1.0.0\n  none: []\n  z:\n  - version: 7\ngenerated: now\n"
	whole := strings.Replace(block, "  none: []\n", "", 1)
	for name, want := range map[string][]string{"a": {"1.10"}, "web": {"2.0.0", "1.0.0"}, "z": {"7"}, "b": nil, "": nil} {
		if diff := cmp.Diff(want, versionsIn(t, whole, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := scanIndex(strings.NewReader(block), "web"); !errors.Is(err, errNoStream) {
		t.Errorf("a chart in flow style: %v", err)
	}
	const inJSON = `{"apiVersion": "v1", "x": [{"entries": 1}], "entries": {"a": [{"version": "1"}], "web": [{"version": "2.0.0", "urls": ["x"]}]}, "generated": "now"}`
	if diff := cmp.Diff([]string{"2.0.0"}, versionsIn(t, inJSON, "web")); diff != "" {
		t.Error(diff)
	}
	out, err := decodeWhole(strings.NewReader(block), "web")
	if err != nil || len(out.versions) != 2 || out.charts != 4 || !out.apiVersion {
		t.Errorf("%+v, %v", out, err)
	}
}

// largeIndex is an index of so many charts with five versions each.
func largeIndex(charts int) []byte {
	out := []byte("apiVersion: v1\nentries:\n")
	words := strings.Repeat("words ", 20)
	for c := range charts {
		out = fmt.Appendf(out, "  chart-%d:\n", c)
		for v := range 5 {
			out = fmt.Appendf(out, "  - apiVersion: v2\n    created: \"2026-01-02T03:04:05Z\"\n    description: %s\n    digest: %064d\n    name: chart-%d\n    urls:\n    - chart-%d-1.%d.0.tgz\n    version: 1.%d.0\n", words, v, c, c, v, v)
		}
	}
	return out
}

// An index of 20,000 charts is read without holding it in memory: the bytes that are allocated are a hundredth of its size.
func TestAnIndexOfManyChartsIsNotInMemory(t *testing.T) {
	const charts = 20_000
	index := largeIndex(charts)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := scanIndex(bytes.NewReader(index), "chart-7")
	runtime.ReadMemStats(&after)
	if err != nil || len(out.versions) != 5 || out.charts != charts {
		t.Fatalf("%d versions of %d charts, %v", len(out.versions), out.charts, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(len(index))/100 {
		t.Errorf("%d bytes are allocated for an index of %d bytes", allocated, len(index))
	}
}

// A chart of many versions, such as kube-prometheus-stack, is read some versions at a time.
func TestAChartOfManyVersionsIsRead(t *testing.T) {
	const count = 3000
	words := strings.Repeat("words ", 330)
	for name, indent := range map[string]string{"beside the key": "  ", "below it": "    "} {
		t.Run(name, func(t *testing.T) {
			index := []byte("apiVersion: v1\nentries:\n  web:\n")
			var want []string
			for v := range count {
				want = append(want, fmt.Sprintf("1.%d.0", v))
				index = fmt.Appendf(index, "%[1]s- description: |-\n%[1]s    %[2]s\n%[1]s    - version: 9\n%[1]s  urls:\n%[1]s  - a.tgz\n%[1]s  version: %[3]s\n", indent, words, want[v])
			}
			index = append(index, "  z:\n  - version: 7\n"...)
			if diff := cmp.Diff(want, versionsIn(t, string(index), "web")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"7"}, versionsIn(t, string(index), "z")); diff != "" {
				t.Error(diff)
			}
		})
	}
	large := "apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n  - description: " + strings.Repeat("words ", 1<<20) + "\n    version: 2.0.0\n"
	if _, err := scanIndex(strings.NewReader(large), "web"); err == nil || !strings.Contains(err.Error(), "one version of chart") {
		t.Errorf("a version of 6 MiB: %v", err)
	}
}

// A server may send anything as the versions of a chart: what is in memory of them is bounded.
func TestTheVersionsOfAChartAreBounded(t *testing.T) {
	list := func(of string, separator string) string {
		return strings.Repeat(of+separator, 2<<20/len(of+separator)) + of
	}
	for name, c := range map[string]struct{ index, want string }{
		"empty versions in JSON": {`{"entries": {"web": [` + list("{}", ",") + `]}}`, "more than 20000 versions"},
		"one version in JSON":    {`{"entries": {"web": [{"urls": [` + list(`""`, ",") + `]}]}}`, "more than 1048576 bytes"},
		"one text in JSON":       {`{"x": "` + list("a", "") + `"}`, "more than 1048576 bytes"},
		"empty versions in YAML": {"entries:\n  web:\n  - {}\n" + list("  - {}\n", ""), "more than 20000 versions"},
		"one version in YAML":    {"entries:\n  web:\n  - urls: [" + list("a", ",") + "]\n", "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scanIndex(strings.NewReader(c.index), "web"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q: %.200v", c.want, err)
			}
		})
	}
	many := "entries:\n  web:\n" + strings.Repeat("  - version: 1.0.0\n    created: [{}]\n    urls: [a, b]\n", 20_000)
	out, err := scanIndex(strings.NewReader(many), "web")
	if err != nil || len(out.versions) != 20_000 {
		t.Fatalf("%d versions, %v", len(out.versions), err)
	}
	if diff := cmp.Diff(version{Version: "1.0.0", URLs: []string{"a"}}, out.versions[19_999]); diff != "" {
		t.Errorf("what is kept of a version: %s", diff)
	}
}

// What a scan finds is what the whole index says.
func FuzzIndex(f *testing.F) {
	f.Add("apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n", "web")
	f.Add("---\nentries:\n    'web':\n    - version: 1\n      urls: [a]\n    x:\n    - {version: 2}\n", "web")
	f.Add(`{"entries": {"web": [{"version": "1"}]}}`, "web")
	f.Fuzz(func(t *testing.T, index, name string) {
		out, err := scanIndex(strings.NewReader(index), name)
		if err != nil || len(out.versions) == 0 {
			return
		}
		var whole struct{ Entries map[string][]version }
		if err := yaml.Unmarshal([]byte(index), &whole); err != nil {
			return // what a scan does not look at may be no YAML
		}
		var want found
		if err := want.add(name, whole.Entries[name]...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.versions, out.versions); diff != "" {
			t.Errorf("%q: %s", index, diff)
		}
	})
}
