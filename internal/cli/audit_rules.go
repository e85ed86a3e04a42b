package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/rules"
)

//go:generate go test . -run ^TestThePagesOfRulesAreInStep$ -update

// everyRule is what --explain says without a rule.
const everyRule = "*"

// explainRules prints one rule, or all.
func (f *auditFlags) explainRules(args []string) error {
	if len(args) > 1 || len(args) == 1 && f.explain != everyRule {
		return usageError("--explain: name one rule")
	}
	if len(args) == 1 {
		f.explain = args[0]
	}
	all := rules.AllRules()
	if f.explain == everyRule {
		return f.listRules(all)
	}
	i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == f.explain })
	if i < 0 {
		return usageError("--explain %q: no such rule; `truce audit --explain` lists them", f.explain)
	}
	return f.explainRule(all[i])
}

func (f *auditFlags) listRules(all []rules.Rule) error {
	out := f.program.env.Out
	switch f.output {
	case "json", "yaml":
		items := make([]ruleJSON, 0, len(all))
		for _, r := range all {
			items = append(items, newRuleJSON(r))
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "AuditRuleList", Items: items})
	case "markdown":
		return rulesIndex(out, all)
	case "", "table", "wide":
		return f.printTable(ruleTable(all))
	}
	return usageError("--explain has no form %s: want table, json, yaml, markdown", f.output)
}

func (f *auditFlags) explainRule(r rules.Rule) error {
	out := f.program.env.Out
	switch f.output {
	case "json", "yaml":
		return f.structured(newRuleJSON(r))
	case "markdown":
		return rulePage(out, r)
	case "", "table", "wide":
		return ruleText(out, f.program.term, r)
	}
	return usageError("--explain has no form %s: want table, json, yaml, markdown", f.output)
}

// ruleJSON is a rule in the structured forms.
type ruleJSON struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	ID         string         `json:"id"`
	Severity   rules.Severity `json:"severity"`
	Title      string         `json:"title"`
	Reason     string         `json:"reason"`
	Remedy     string         `json:"remedy"`
	Source     string         `json:"source"`
	Mendable   bool           `json:"mendable"`
}

func newRuleJSON(r rules.Rule) ruleJSON {
	return ruleJSON{schemaVersion, "AuditRule", r.ID, r.Severity, r.Title, r.Reason, r.Remedy, r.Source, r.Fixable}
}

func ruleTable(rules []rules.Rule) *table {
	t := &table{}
	t.columns(plainCells("RULE", "SEVERITY", "FIX", "WHAT")...)
	for _, r := range rules {
		t.add(cell{text: r.ID}, cell{string(r.Severity), paintSeverity[r.Severity]}, cell{text: yesOrNo(r.Fixable)}, cell{text: r.Title})
	}
	return t
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// ruleText prints one rule for a person, with what it finds.
func ruleText(w io.Writer, term terminal, r rules.Rule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n\n%s\n", term.in(paintSeverity[r.Severity], string(r.Severity)), term.in(bold, r.ID), r.Title, r.Reason)
	fmt.Fprintf(&b, "\n%s %s\n", term.in(faint, "remedy:"), r.Remedy)
	if r.Fixable {
		fmt.Fprintf(&b, "%s truce fix --rule %s\n", term.in(faint, "fix:"), r.ID)
	}
	fmt.Fprintf(&b, "%s %s\n", term.in(faint, "known from:"), r.Source)
	bad, _ := rules.Examples(r.ID)
	fmt.Fprintf(&b, "\n%s %s\n", term.in(bold, "Example:"), bad.Title)
	for _, f := range bad.Files {
		fmt.Fprintf(&b, "\n  %s\n%s", term.in(faint, f.Name), indentPlain(string(f.Data)))
	}
	fmt.Fprintf(&b, "\n  %s\n%s", term.in(faint, "truce says"), indentPlain(bad.Says+"\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

func indentPlain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + line)
	}
	return b.String()
}

const madeOfRules = "<!-- Made from the rules and stories of internal/lint/rules by go generate ./internal/cli. Change it there. -->\n\n"

// rulesIndex prints docs/rules/README.md.
func rulesIndex(w io.Writer, rules []rules.Rule) error {
	var b strings.Builder
	b.WriteString(madeOfRules + "# Rules of truce audit\n\n")
	b.WriteString("    truce audit                   # find\n    truce audit --explain RULE    # explain a rule\n    truce fix --rule RULE         # edit the files, where the column fix says yes\n\n" +
		"Each page has an example that the rule finds and one that it does not find. Both are tests of the rule.\n\n| rule | severity | fix | what is wrong |\n|---|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", r.ID, r.ID, r.Severity, yesOrNo(r.Fixable), strings.ReplaceAll(r.Title, "|", `\|`))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rulePage prints docs/rules/RULE.md.
func rulePage(w io.Writer, r rules.Rule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n**%s**: %s.\n\n%s\n\n", madeOfRules, r.ID, r.Severity, r.Title, wrapText(r.Reason))
	fmt.Fprintf(&b, "## What to do\n\n%s\n\n", wrapText(r.Remedy))
	if r.Fixable {
		fmt.Fprintf(&b, "`truce fix --rule %s` does it, where that changes nothing else.\n\n", r.ID)
	}
	bad, good := rules.Examples(r.ID)
	b.WriteString("## What is found\n\n")
	exampleText(&b, bad)
	b.WriteString("Truce says:\n\n```text\n" + bad.Says + "\n```\n\n## What is left alone\n\n")
	exampleText(&b, good)
	fmt.Fprintf(&b, "## Known from\n\n%s\n", wrapText(strings.TrimSuffix(r.Source, ".")+"."))
	_, err := io.WriteString(w, b.String())
	return err
}

func exampleText(b *strings.Builder, e rules.Example) {
	b.WriteString(wrapText(e.Title) + "\n\n")
	for _, f := range e.Files {
		fmt.Fprintf(b, "`%s`\n\n```yaml\n%s\n```\n\n", f.Name, strings.TrimRight(string(f.Data), "\n"))
	}
}

// wrapText breaks lines of prose; what is set in stays as it is.
func wrapText(text string) string {
	const width = 140
	var out []string
	for _, line := range strings.Split(text, "\n") {
		for len(line) > width && line[0] != ' ' {
			at := strings.LastIndexByte(line[:width], ' ')
			if at < 0 {
				break
			}
			out, line = append(out, line[:at]), line[at+1:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
