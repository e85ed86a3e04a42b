package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

var _ = golden.Run // for its flag -update

const (
	page  = "../../../docs/metrics.md"
	begin = "<!-- generated: the families that the code makes; `make golden` -->\n"
	end   = "<!-- end -->\n"
)

// TestThePageOfMetricsIsTrue keeps the table of docs/metrics.md equal to what the code makes, and its queries about metrics that there are.
func TestThePageOfMetricsIsTrue(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks are gone", page)
	}
	m := metrics.NewMetrics("v1")
	want := head + begin + table(m) + end + tail
	if diff := cmp.Diff(want, string(text)); diff != "" {
		if flag.Lookup("update").Value.String() != "true" {
			t.Fatalf("%s is not what the code makes; run `make golden` (-want +got):\n%s", page, diff)
		}
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	speaks(t, m, page, head+tail)
}

// TestPagesSpeakOfMetricsThatThereAre reads all other pages.
func TestPagesSpeakOfMetricsThatThereAre(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	more, err2 := filepath.Glob("../../../docs/*/*.md")
	if err != nil || err2 != nil || len(more) == 0 {
		t.Fatal(err, err2)
	}
	m := metrics.NewMetrics("v1")
	for _, path := range append(pages, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		speaks(t, m, path, string(text))
	}
}

func speaks(t *testing.T, m *metrics.Metrics, path, text string) {
	t.Helper()
	for _, name := range regexp.MustCompile(`truce_[a-z_]+[a-z]`).FindAllString(text, -1) {
		of := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !slices.ContainsFunc(m.Families(), func(f metrics.Family) bool { return f.Name == of }) {
			t.Errorf("%s speaks of %s, which is not there", path, name)
		}
	}
}

func table(m *metrics.Metrics) string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range m.Families() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(f.Labels, ", "), f.Help)
	}
	return b.String()
}
