package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// commands are the workflow commands that annotate a file (docs.github.com, "Workflow commands for GitHub Actions").
var commands = map[rules.Severity]string{rules.Error: "error", rules.Warning: "warning", rules.Info: "notice"}

// github writes the gravest findings first, since GitHub shows ten annotations of each kind for a step. What is known is counted only.
func (s Sheet) github(w io.Writer) error {
	var b strings.Builder
	for _, f := range gravest(s.Findings.New) {
		command, ok := commands[f.Severity]
		if !ok {
			command = commands[rules.Warning]
		}
		title := f.Rule
		if about := what(f); about != "" {
			title += ": " + about
		}
		b.WriteString(annotation(command, title, s.place(f), joined("\n", cmp.Or(said(f.Message), f.Rule), said(f.Remedy))))
	}
	for _, g := range discover.Grouped(s.Left()) {
		b.WriteString(leftOut(g))
	}
	for _, e := range s.Findings.Stale {
		b.WriteString(annotation("notice", "stale entry of the baseline", desired.Place{}, stale(e)))
	}
	fmt.Fprintf(&b, "truce audit: %s\n", s.sum())
	_, err := io.WriteString(w, b.String())
	return err
}

// leftOut annotates each thing that should have been readable, and others once for each reason.
func leftOut(g discover.Group) string {
	out, rest := "", 0
	for i, k := range g.All {
		switch at := (desired.Place{File: k.File, Line: k.Line}); {
		case k.Broken:
			out += annotation("warning", notLooked, at, skipped(k))
		case rest > 0:
		case len(g.All)-i > 1:
			rest = len(g.All) - i - 1
			out += annotation("notice", notLooked, at, fmt.Sprintf("%s; so were %d more for the same reason", skipped(k), rest))
		default:
			out += annotation("notice", notLooked, at, skipped(k))
		}
	}
	return out
}

// sum counts what was found, in one line.
func (s Sheet) sum() string {
	errors, warnings, infos := counts(s.Findings.New)
	out := fmt.Sprintf("%s, %s and %s in %s", count(errors, "error", "errors"), count(warnings, "warning", "warnings"), count(infos, "hint", "hints"),
		count(len(s.Survey.Units), "app or root", "apps and roots"))
	if n := len(s.Findings.Known); n > 0 {
		out += fmt.Sprintf("; %s known by the baseline", count(n, "finding", "findings"))
	}
	if s.Aside > 0 {
		out += fmt.Sprintf("; %s left out", count(s.Aside, "finding about the form of values is", "findings about the form of values are"))
	}
	if n := len(s.Left()); n > 0 {
		out += fmt.Sprintf("; %s not looked into", count(n, "thing was", "things were"))
	}
	return out
}

func annotation(command, title string, p desired.Place, text string) string {
	var given []string
	give := func(key, value string) { given = append(given, key+"="+inProperty.Replace(value)) }
	if p.File != "" {
		give("file", p.File)
	}
	if p.File != "" && p.Line > 0 {
		give("line", fmt.Sprint(p.Line))
		if p.Column > 0 {
			give("col", fmt.Sprint(p.Column))
		}
	}
	give("title", title)
	return "::" + command + " " + strings.Join(slices.Clip(given), ",") + "::" + inData.Replace(text) + "\n"
}

// What the runner unescapes (actions/runner, ActionCommand.cs).
var (
	inData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
