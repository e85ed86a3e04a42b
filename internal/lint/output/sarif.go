package output

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// What GitHub takes of one file (docs.github.com, "SARIF support for code scanning").
const (
	mostResults   = 25_000
	mostLocations = 100
)

// levels are SARIF's words for severities (2.1.0, §3.27.10).
var levels = map[rules.Severity]string{rules.Error: "error", rules.Warning: "warning", rules.Info: "note"}

func sarifLevel(s rules.Severity) string { return cmp.Or(levels[s], "warning") }

func (s Audit) sarif(w io.Writer) error {
	rules, index := s.rulesOf()
	results, cut := s.results(index)
	run := sarifRun{
		Tool:        sarifTool{Driver: sarifDriver{Name: "truce", InformationURI: "https://github.com/truce-gitops/truce", Version: s.Version, Rules: rules}},
		Invocations: []sarifInvocation{s.invocation(cut)}, ColumnKind: "unicodeCodePoints", Results: results,
	}
	return indented(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// rulesOf lists the rules and the place of each; a rule that only a finding names is among them, with no more than its name.
func (s Audit) rulesOf() ([]sarifRule, map[string]int) {
	out, index := []sarifRule{}, map[string]int{}
	for _, r := range s.Rules {
		index[r.ID] = len(out)
		out = append(out, newSarifRule(r))
	}
	for _, f := range slices.Concat(s.Findings.New, s.Findings.Known) {
		if _, ok := index[f.Rule]; !ok {
			index[f.Rule] = len(out)
			out = append(out, newSarifRule(rules.Rule{ID: f.Rule, Severity: f.Severity, Title: f.Rule}))
		}
	}
	return out, index
}

func newSarifRule(r rules.Rule) sarifRule {
	out := sarifRule{
		ID: r.ID, ShortDescription: sarifText{Text: r.Title}, Default: sarifConfiguration{Level: sarifLevel(r.Severity)},
		Properties: sarifProperties{Tags: []string{"gitops", "kubernetes"}, Severity: problemText(r.Severity), Precision: "high"},
	}
	if r.Reason != "" {
		out.FullDescription = &sarifText{Text: r.Reason}
	}
	if help := joinTexts("\n\n", r.Reason, r.Remedy, sourceOf(r)); help != "" {
		out.Help = &sarifText{Text: help, Markdown: joinTexts("\n\n", r.Reason, withTitle("**What to do.** ", r.Remedy), sourceOf(r))}
	}
	return out
}

func sourceOf(r rules.Rule) string { return withTitle("Where this is known from: ", r.Source) }

func withTitle(title, text string) string {
	if text == "" {
		return ""
	}
	return title + text
}

func joinTexts(by string, texts ...string) string {
	out := ""
	for _, t := range texts {
		if out != "" && t != "" {
			out += by
		}
		out += t
	}
	return out
}

// problemText are GitHub's words for severities (property problem.severity).
func problemText(s rules.Severity) string {
	if s == rules.Info {
		return "recommendation"
	}
	return sarifLevel(s)
}

// results are the findings, the gravest of each half first where there are too many; cut is how many are left out.
func (s Audit) results(index map[string]int) (out []sarifResult, cut int) {
	h := &lineHashCache{files: s.Survey.Files, known: map[string][]string{}}
	out = []sarifResult{}
	fresh, old := s.Findings.New, s.Findings.Known
	if len(fresh)+len(old) > mostResults {
		fresh, old = gravestFirst(fresh), gravestFirst(old)
	}
	for i, f := range slices.Concat(fresh, old) {
		if i == mostResults {
			return out, len(fresh) + len(old) - mostResults
		}
		r := s.result(f, h)
		if r.RuleIndex = index[f.Rule]; i >= len(fresh) {
			r.Suppressions = []sarifSuppression{{Kind: "external", Status: "accepted", Justification: "known by the baseline"}}
		}
		out = append(out, r)
	}
	return out, 0
}

func (s Audit) result(f rules.Finding, h *lineHashCache) sarifResult {
	place := s.place(f)
	out := sarifResult{
		RuleID: f.Rule, Level: sarifLevel(f.Severity), Message: sarifText{Text: joinTexts("\n\n", cmp.Or(oneLine(f.Message), f.Rule), oneLine(f.Remedy))},
		Locations:    []sarifLocation{{Physical: physical(place)}},
		Suppressions: []sarifSuppression{}, // all results have some, or none may (2.1.0, §3.27.23)
		Fingerprints: map[string]string{"truceFinding/v1": baseline.Fingerprint(f)},
	}
	if about := findingTitle(f); about != "" {
		out.Locations[0].Logical = []sarifLogical{{Name: about, Kind: "resource"}}
	}
	if hash := h.of(place.File, max(1, place.Line)); hash != "" {
		out.Fingerprints["primaryLocationLineHash"] = hash
	}
	for i, p := range f.Others {
		if i == mostLocations {
			break
		}
		if p.File != "" {
			out.Related = append(out.Related, sarifLocation{ID: len(out.Related) + 1, Physical: physical(p), Message: &sarifText{Text: relationText(p)}})
		}
	}
	return out
}

func relationText(p desired.Place) string {
	if p.Means == "" {
		return placeText(p)
	}
	return string(p.Means) + " at " + placeText(p)
}

// physical is a place as GitHub wants it: a file below the top of the repository, and always a line of it.
func physical(p desired.Place) *sarifPhysical {
	return &sarifPhysical{
		Artifact: sarifArtifact{URI: fileURI(cmp.Or(p.File, ".")), Base: "%SRCROOT%"},
		Region:   sarifRegion{StartLine: max(1, p.Line), StartColumn: p.Column},
	}
}

func fileURI(file string) string { return (&url.URL{Path: file}).String() }

// invocation says what was not looked into.
func (s Audit) invocation(cut int) sarifInvocation {
	out := sarifInvocation{Successful: true, Notifications: []sarifNotification{}}
	for _, k := range s.Left() {
		out.Notifications = append(out.Notifications, notificationOf(k))
		out.Successful = out.Successful && !k.Broken
	}
	for _, a := range s.Survey.Assumed {
		out.Notifications = append(out.Notifications, sarifNotification{Level: "note", Message: sarifText{Text: "assumed: " + oneLine(a)}})
	}
	for _, e := range s.Findings.Stale {
		out.Notifications = append(out.Notifications, sarifNotification{Level: "note", Message: sarifText{Text: staleText(e)}})
	}
	if cut > 0 {
		text := fmt.Sprintf("%s left out: a file of results holds %d", pluralize(cut, "finding is", "findings are"), mostResults)
		out.Notifications = append(out.Notifications, sarifNotification{Level: "warning", Message: sarifText{Text: text}})
	}
	return out
}

func notificationOf(k discover.Skipped) sarifNotification {
	out := sarifNotification{Level: "note", Message: sarifText{Text: skippedText(k)}}
	if k.Broken {
		out.Level = "error"
	}
	if k.File != "" {
		out.Locations = []sarifLocation{{Physical: physical(desired.Place{File: k.File, Line: k.Line})}}
	}
	return out
}
