// Package output answers: how do other programs read findings?
//
// In: a Sheet: what an audit looked at, what it found, and what it did not look into.
// Out: one of the Forms: JSON, SARIF for code scanning, JUnit XML, GitHub's workflow commands, Markdown for a comment.
// Promise: pure; the same Sheet gives the same bytes; what was not looked into is in each form; what a form's reader would cut off is cut
// here, and said; nothing that is found in Git is taken for markup or a command.
// Not here: finding (audit), tables for people (cli), which findings are known (known).
package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Format is a way to write findings. The zero value is unknown.
type Format string

// The forms.
const (
	JSON     Format = "json"
	SARIF    Format = "sarif"
	JUnit    Format = "junit"
	GitHub   Format = "github"
	Markdown Format = "markdown"
)

// Audit is all that is printed of one audit.
type Audit struct {
	Version string             // truce's own
	Survey  discover.Discovery // what was looked at
	Rules   []rules.Rule
	// Findings are those that are new, with those that are known.
	Findings baseline.Comparison
	// Aside is how many findings about the form of values were left out.
	Aside int
	// FailOn is the least grave severity that counts as a failure; the zero value is none.
	FailOn rules.Severity
}

// WriteAudit writes a Sheet in a Form. An unknown Form is an error, others are the writer's.
func WriteAudit(w io.Writer, f Format, s Audit) error {
	switch f {
	case JSON:
		return s.json(w)
	case SARIF:
		return s.sarif(w)
	case JUnit:
		return s.junit(w)
	case GitHub:
		return s.github(w)
	case Markdown:
		return s.markdown(w)
	}
	return fmt.Errorf("publish: no form %q", f)
}

// Fails reports whether the finding counts, by FailOn. What is known is not for this to say.
func (s Audit) Fails(f rules.Finding) bool {
	return s.FailOn != "" && severityRank(f.Severity) <= severityRank(s.FailOn)
}

// Left is what was not looked into, but for manifests that a finding says cannot be read.
func (s Audit) Left() []discover.Skipped {
	said := map[desired.Place]bool{}
	for _, f := range slices.Concat(s.Findings.New, s.Findings.Known) {
		if f.Rule == rules.Unreadable {
			said[desired.Place{File: f.Place.File, Line: f.Place.Line}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Survey.Skipped), func(k discover.Skipped) bool {
		return k.Unreadable() && said[desired.Place{File: k.File, Line: k.Line}]
	})
}

// Blind reports whether something that should be readable was not judged, and no baseline knows of it: it may hide anything.
func (s Audit) Blind() bool {
	return slices.ContainsFunc(s.Left(), func(k discover.Skipped) bool { return k.Broken }) ||
		slices.ContainsFunc(s.Findings.New, func(f rules.Finding) bool { return f.Rule == rules.Unreadable })
}

// severityRank is 0 for the gravest.
func severityRank(s rules.Severity) int {
	if i := slices.Index([]rules.Severity{rules.Error, rules.Warning, rules.Info}, s); i >= 0 {
		return i
	}
	return 1
}

// gravestFirst orders findings by severity; those of one severity stay in their order.
func gravestFirst(findings []rules.Finding) []rules.Finding {
	out := slices.Clone(findings)
	slices.SortStableFunc(out, func(a, b rules.Finding) int { return cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)) })
	return out
}

// place is where a finding can be shown: where it is, or, if that is no file, where the unit begins in which it is.
func (s Audit) place(f rules.Finding) desired.Place {
	if f.Place.File != "" {
		return f.Place
	}
	for _, u := range s.Survey.Units {
		if f.Unit != "" && u.Name() == f.Unit {
			return desired.Place{File: u.File, Line: u.Line, Field: f.Place.Field}
		}
	}
	return f.Place
}

// oneLine is a text from elsewhere: without credentials and control characters, in one line.
func oneLine(text string) string { return strings.Join(strings.Fields(redact.MaskText(text)), " ") }

// findingTitle names what a finding is about, in one line.
func findingTitle(f rules.Finding) string {
	out := f.Unit
	if f.Object.Name != "" {
		out = f.Object.String()
	}
	return oneLine(strings.TrimSpace(out + " " + fieldOf(f)))
}

// skippedText says in one line what was not looked into.
func skippedText(k discover.Skipped) string {
	return oneLine(fmt.Sprintf("%s was not looked into: %s", cmp.Or(k.What, k.File), k.Why))
}

// staleText says in one line which entry is stale.
func staleText(e baseline.Entry) string {
	return oneLine(fmt.Sprintf("the baseline knows %s of %s, which is no longer found: %s", e.Rule, cmp.Or(e.Object, e.Unit, e.File), e.Message))
}

func pluralize(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
