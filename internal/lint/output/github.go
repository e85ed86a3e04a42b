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
func (s Audit) github(w io.Writer) error {
	var b strings.Builder
	for _, f := range gravestFirst(s.Findings.New) {
		command, ok := commands[f.Severity]
		if !ok {
			command = commands[rules.Warning]
		}
		title := f.Rule
		if about := findingTitle(f); about != "" {
			title += ": " + about
		}
		b.WriteString(annotation(command, title, s.place(f), joinTexts("\n", cmp.Or(oneLine(f.Message), f.Rule), oneLine(f.Remedy))))
	}
	for _, g := range discover.Grouped(s.Left()) {
		b.WriteString(leftOutText(g))
	}
	for _, e := range s.Findings.Stale {
		b.WriteString(annotation("notice", "stale entry of the baseline", desired.Place{}, staleText(e)))
	}
	fmt.Fprintf(&b, "truce audit: %s\n", s.sum())
	_, err := io.WriteString(w, b.String())
	return err
}

// leftOutText annotates each thing that should have been readable, and others once for each reason.
func leftOutText(g discover.Group) string {
	out, rest := "", 0
	for i, k := range g.All {
		switch at := (desired.Place{File: k.File, Line: k.Line}); {
		case k.Broken:
			out += annotation("warning", notLooked, at, skippedText(k))
		case rest > 0:
		case len(g.All)-i > 1:
			rest = len(g.All) - i - 1
			out += annotation("notice", notLooked, at, fmt.Sprintf("%s; so were %d more for the same reason", skippedText(k), rest))
		default:
			out += annotation("notice", notLooked, at, skippedText(k))
		}
	}
	return out
}

// sum counts what was found, in one line.
func (s Audit) sum() string {
	errors, warnings, infos := countSeverities(s.Findings.New)
	out := fmt.Sprintf("%s, %s and %s in %s", pluralize(errors, "error", "errors"), pluralize(warnings, "warning", "warnings"), pluralize(infos, "hint", "hints"),
		pluralize(len(s.Survey.Units), "app or root", "apps and roots"))
	if n := len(s.Findings.Known); n > 0 {
		out += fmt.Sprintf("; %s known by the baseline", pluralize(n, "finding", "findings"))
	}
	if s.Aside > 0 {
		out += fmt.Sprintf("; %s left out", pluralize(s.Aside, "finding about the form of values is", "findings about the form of values are"))
	}
	if n := len(s.Left()); n > 0 {
		out += fmt.Sprintf("; %s not looked into", pluralize(n, "thing was", "things were"))
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
