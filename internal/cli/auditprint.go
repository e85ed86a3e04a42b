package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/audit"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/publish"
	"github.com/truce-gitops/truce/internal/redact"
	"github.com/truce-gitops/truce/internal/survey"
)

// auditView prints findings as a person reads them: file by file, as compilers do.
type auditView struct {
	term terminal
	publish.Sheet
}

var paintSeverity = map[audit.Severity]paint{audit.Error: red, audit.Warning: yellow, audit.Info: cyan}

func (v auditView) print(w io.Writer) error {
	var b strings.Builder
	file := ""
	for i, f := range v.Findings.New {
		if at := f.Place.File; i == 0 || at != file {
			file = at
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(v.term.in(bold, v.text(file)) + "\n")
		}
		v.one(&b, f)
	}
	v.known(&b)
	v.skipped(&b)
	v.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (v auditView) text(s string) string { return strings.ReplaceAll(redact.Text(s), "\n", " ") }

func (v auditView) one(b *strings.Builder, f audit.Finding) {
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

// placeText is file:line:column, which editors and terminals follow, or the field of a custom resource.
func placeText(p desired.Place) string {
	switch {
	case p.File == "" && p.Field == "":
		return "-"
	case p.Field != "" || p.Column == 0:
		return p.String()
	}
	return fmt.Sprintf("%s:%d", p.String(), p.Column)
}

func (v auditView) skipped(b *strings.Builder) {
	for _, broken := range []bool{true, false} {
		var lines []string
		for _, k := range v.Survey.Skipped {
			if k.Broken == broken {
				lines = append(lines, fmt.Sprintf("  %s %s: %s\n", v.text(skippedAt(k)), v.text(k.What), v.text(k.Why)))
			}
		}
		if len(lines) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		head := "not looked into"
		if broken {
			head = "does not render"
		}
		b.WriteString(v.term.in(bold, head) + "\n" + strings.Join(lines, ""))
	}
}

func skippedAt(k survey.Skipped) string {
	if k.Line == 0 {
		return k.File
	}
	return fmt.Sprintf("%s:%d", k.File, k.Line)
}

// summary is the last line, and what was assumed on the way.
func (v auditView) summary(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	for _, a := range v.Survey.Assumed {
		b.WriteString(v.text("assumed: "+a) + "\n")
	}
	objects, bare := 0, 0
	for _, u := range v.Survey.Units {
		objects += len(u.Objects)
		if u.Dialect == survey.Bare {
			bare++
		}
	}
	number := func(n int, one, many string) string { return cmp.Or(count(n, one, many), "0 "+many) }
	fmt.Fprintf(b, "%s, %s, %s:", number(len(v.Survey.Units)-bare, "app", "apps"), number(bare, "other directory", "other directories"),
		number(objects, "object", "objects"))
	for _, s := range []audit.Severity{audit.Error, audit.Warning, audit.Info} {
		n := 0
		for _, f := range v.Findings.New {
			if f.Severity == s {
				n++
			}
		}
		fmt.Fprintf(b, " %s %d,", s, n)
	}
	broken := 0
	for _, k := range v.Survey.Skipped {
		if k.Broken {
			broken++
		}
	}
	if n := len(v.Findings.Known); n > 0 {
		fmt.Fprintf(b, " known %d,", n)
	}
	fmt.Fprintf(b, " broken %d, not looked into %d\n", broken, len(v.Survey.Skipped)-broken)
}
