package output_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/output"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// printed is a Sheet as a story writes it.
type told struct {
	FailOn rules.Severity
	Rules  []rules.Rule
	Units  []struct {
		Name, Path, File string
		Line, Objects    int
	}
	Findings []struct {
		Known  bool
		Fields string
		rules.Finding
	}
	Stale   []baseline.Entry
	Skipped []discover.Skipped
	Assumed []string
}

func sheet(t *testing.T, in golden.Files) output.Audit {
	t.Helper()
	var from told
	if err := yaml.UnmarshalStrict([]byte(in.Need(t, "sheet")), &from); err != nil {
		t.Fatal(err)
	}
	s := output.Audit{Version: "0.0.0-story", Rules: from.Rules, FailOn: from.FailOn}
	s.Survey.Skipped, s.Survey.Assumed = from.Skipped, from.Assumed
	files := fstest.MapFS{}
	for name, text := range in {
		if path, ok := strings.CutPrefix(name, "git/"); ok {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	s.Survey.Files = files
	for _, u := range from.Units {
		unit := discover.Unit{Dialect: discover.Bare, File: u.File, Line: u.Line, App: app.App{Path: u.Path}, Objects: make([]desired.Object, max(1, u.Objects))}
		if u.Name != "" {
			unit.Dialect, unit.App.Key = discover.Flux, app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: u.Name}
		}
		s.Survey.Units = append(s.Survey.Units, unit)
	}
	for _, f := range from.Findings {
		if f.Fields != "" {
			f.Path = field.NewPath(strings.Split(f.Fields, ".")...)
		}
		if f.Known {
			s.Findings.Known = append(s.Findings.Known, f.Finding)
		} else {
			s.Findings.New = append(s.Findings.New, f.Finding)
		}
	}
	s.Findings.Stale = from.Stale
	return s
}

// written is a form of a sheet; SARIF is held against the rules of its schema each time.
func written(t *testing.T, form output.Format, s output.Audit) string {
	t.Helper()
	var b bytes.Buffer
	if err := output.WriteAudit(&b, form, s); err != nil {
		t.Fatal(err)
	}
	if form == output.SARIF {
		mustBeSARIF(t, b.Bytes())
	}
	return b.String()
}

func TestEachFormTellsItsStory(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		return written(t, output.Format(strings.TrimSpace(in.Need(t, "form"))), sheet(t, in))
	})
}

func TestNothingFoundIsSaidInEachForm(t *testing.T) {
	for form, want := range map[output.Format]string{
		output.JSON: `"findings": []`, output.SARIF: `"results": []`, output.JUnit: `tests="0"`,
		output.GitHub: "0 errors, 0 warnings and 0 hints in 0 apps", output.Markdown: "0 errors, 0 warnings and 0 hints in 0 apps",
	} {
		if got := written(t, form, output.Audit{}); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", form, want, got)
		}
	}
	if err := output.WriteAudit(&bytes.Buffer{}, "word", output.Audit{}); err == nil {
		t.Error("an unknown form is no error")
	}
}

// many is a sheet of n findings, the last of which is the only error.
func many(n int) output.Audit {
	var s output.Audit
	for i := range n {
		f := rules.Finding{
			Rule: "rule", Severity: rules.Info, Object: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"},
			Place: desired.Place{File: "web.yaml", Line: i + 1}, Message: "something",
		}
		if i == n-1 {
			f.Severity, f.Message = rules.Error, "the gravest"
		}
		s.Findings.New = append(s.Findings.New, f)
	}
	return s
}

func TestWhatGitHubWouldCutOffIsCutAndSaid(t *testing.T) {
	text := written(t, output.SARIF, many(25_002))
	if n := strings.Count(text, `"ruleIndex"`); n != 25_000 {
		t.Errorf("SARIF: %d results, want 25000", n)
	}
	if !strings.Contains(text, "2 findings are left out") || !strings.Contains(text, "the gravest") {
		t.Error("SARIF: does not say what it left out, or left out the gravest")
	}
	one := many(1)
	one.Findings.New[0].Others = slices.Repeat([]desired.Place{{File: "web.yaml", Line: 2}}, 150)
	if n := strings.Count(written(t, output.SARIF, one), `"text": "web.yaml:2"`); n != 100 {
		t.Errorf("SARIF: %d related places, want 100", n)
	}
	s := many(2_000)
	s.Findings.New = append(s.Findings.New, rules.Finding{Rule: "rule", Place: desired.Place{File: "late.yaml"}, Message: strings.Repeat("long ", 500)})
	text = written(t, output.Markdown, s)
	if len(text) > 65_536 || len(text) < 60_000 {
		t.Errorf("Markdown: %d characters", len(text))
	}
	if strings.Contains(text, "late.yaml") || !strings.Contains(text, "<summary><b><code>web.yaml</code></b>: 2000</summary>") {
		t.Error("Markdown: a list without a row, or a long one that is not folded")
	}
	if !strings.Contains(text, "not shown: a comment holds 65536 characters") || strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("Markdown: does not say what it left out, or ends in the middle")
	}
}
