package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/output"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// auditPrinter prints findings as a person reads them: file by file, as compilers do.
type auditPrinter struct {
	term terminal
	output.Audit
	allSkipped bool // list each thing that was not looked into
}

var paintSeverity = map[rules.Severity]paint{rules.Error: red, rules.Warning: yellow, rules.Info: cyan}

func (v auditPrinter) print(w io.Writer) error {
	var b strings.Builder
	file := ""
	for i, n := 0, 0; i < len(v.Findings.New); i += n {
		f := v.Findings.New[i]
		n = countAlike(v.Findings.New[i:])
		if at := f.Place.File; i == 0 || at != file {
			file = at
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(v.term.in(bold, v.text(file)) + "\n")
		}
		v.one(&b, f)
		v.again(&b, f, v.Findings.New[i+1:i+n])
	}
	v.known(&b)
	v.skipped(&b)
	v.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (v auditPrinter) text(s string) string { return strings.ReplaceAll(redact.MaskText(s), "\n", " ") }

func (v auditPrinter) one(b *strings.Builder, f rules.Finding) {
	fmt.Fprintf(b, "  %s %s %s", v.text(placeText(f.Place)), v.term.in(paintSeverity[f.Severity], string(f.Severity)), f.Rule)
	if f.Object != (object.ID{}) {
		b.WriteString(" " + v.text(f.Object.String()))
	}
	fmt.Fprintf(b, "\n    %s\n", v.text(f.Message))
	for _, o := range f.Others {
		fmt.Fprintf(b, "    %s %s\n", v.term.in(faint, "also"), v.text(placeText(o)))
	}
	if f.Remedy != "" {
		fmt.Fprintf(b, "    %s %s\n", v.term.in(faint, "remedy:"), v.text(f.Remedy))
	}
}

// countAlike counts the findings at the beginning that say the same of one field at one place: an overlay for each cluster shares a base, and each app a component.
func countAlike(all []rules.Finding) int {
	first, n := all[0], 1
	for n < len(all) && saysSame(first, all[n]) {
		n++
	}
	return n
}

// saysSame reports whether two findings differ in the app alone, or in the name of the object as well.
func saysSame(a, b rules.Finding) bool {
	if a.Place != b.Place || a.Rule != b.Rule || a.Severity != b.Severity || !a.Path.Equals(b.Path) {
		return false
	}
	as := func(text string) string {
		return strings.ReplaceAll(text, b.Object.Namespace+"/"+b.Object.Name, a.Object.Namespace+"/"+a.Object.Name)
	}
	return a.Object == b.Object || a.Object.Kind == b.Object.Kind && a.Message == as(b.Message) && a.Remedy == as(b.Remedy)
}

// again names the apps that have the same finding, or the objects where these are others.
func (v auditPrinter) again(b *strings.Builder, first rules.Finding, more []rules.Finding) {
	const shown = 3
	var names []string
	label := "also in"
	for _, f := range more {
		name := f.Unit
		if f.Object != first.Object {
			_, name, _ = strings.Cut(f.Object.String(), " ")
			label = "also"
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	text := strings.Join(names[:min(shown, len(names))], ", ")
	if n := len(names) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(b, "    %s %s\n", v.term.in(faint, label), v.text(text))
}

// placeText is file:line:column, which editors and terminals follow, or the field of a custom resource.
func placeText(p desired.Place) string {
	switch {
	case p.File == "" && p.Field == "":
		return "-"
	case p.Field == "" && p.Line == 0:
		return p.File
	case p.Field != "" || p.Column == 0:
		return p.String()
	}
	return fmt.Sprintf("%s:%d", p.String(), p.Column)
}

// summary is the last line, and what was assumed on the way.
func (v auditPrinter) summary(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	for _, a := range v.Survey.Assumed {
		b.WriteString(v.text("assumed: "+a) + "\n")
	}
	objects, bare := 0, 0
	for _, u := range v.Survey.Units {
		objects += len(u.Objects)
		if u.Dialect == discover.Bare {
			bare++
		}
	}
	number := func(n int, one, many string) string { return cmp.Or(pluralize(n, one, many), "0 "+many) }
	fmt.Fprintf(b, "%s, %s, %s:", number(len(v.Survey.Units)-bare, "app", "apps"), number(bare, "other directory", "other directories"),
		number(objects, "object", "objects"))
	for _, s := range []rules.Severity{rules.Error, rules.Warning, rules.Info} {
		n := 0
		for _, f := range v.Findings.New {
			if f.Severity == s {
				n++
			}
		}
		fmt.Fprintf(b, " %s %d,", s, n)
	}
	left := v.Left()
	broken := len(slices.DeleteFunc(slices.Clone(left), func(k discover.Skipped) bool { return !k.Broken }))
	if n := len(v.Findings.Known); n > 0 {
		fmt.Fprintf(b, " known %d,", n)
	}
	fmt.Fprintf(b, " broken %d, not looked into %d\n", broken, len(left)-broken)
	if v.Aside > 0 {
		fmt.Fprintf(b, "%s left out; --form shows them\n", number(v.Aside, "finding about the form of values is", "findings about the form of values are"))
	}
}
