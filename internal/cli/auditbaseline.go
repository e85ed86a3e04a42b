package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
)

// maxBaseline bounds a baseline that is read; a finding in it has some hundred bytes.
const maxBaseline = 16 << 20

// sorted separates the findings that the baseline has from those that it has not, and writes a new baseline where that is asked for.
func (f *auditFlags) sorted(s discover.Discovery, found []rules.Finding) (baseline.Comparison, error) {
	list := baseline.List{}
	if f.baseline != "" {
		text, err := readAtMost(f.baseline, maxBaseline)
		if err != nil {
			return baseline.Comparison{}, usageError("--baseline: %w", err)
		}
		if list, err = baseline.ParseFile(f.baseline, text); err != nil {
			return baseline.Comparison{}, usageError("--baseline: %w", err)
		}
	}
	if f.writeBaseline != "" {
		if !f.form {
			found, _ = rules.Weighty(found)
		}
		now := baseline.FromFindings(found)
		text, err := now.Text()
		if err == nil {
			err = os.WriteFile(f.writeBaseline, text, 0o644)
		}
		if err != nil {
			return baseline.Comparison{}, usageError("--write-baseline: %w", err)
		}
		fmt.Fprintf(f.program.env.Err, "%d findings are known by %s from now on\n", len(found), f.writeBaseline)
		return now.Compare(found), nil
	}
	out := list.Compare(found)
	out.Stale = slices.DeleteFunc(out.Stale, func(e baseline.Entry) bool { return mayOnlyLookStale(s, e) })
	return out, nil
}

// readAtMost reads a file that should be small.
func readAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, err
}

// mayOnlyLookStale reports whether an entry may only look stale: what it is about was not looked into this time.
func mayOnlyLookStale(s discover.Discovery, e baseline.Entry) bool {
	if s.Part != (discover.Part{}) {
		return true
	}
	return slices.ContainsFunc(s.Units, func(u discover.Unit) bool { return u.Err != nil && (e.Unit == "" || e.Unit == u.Name()) })
}

// known prints what the baseline knows, a line each, and which of its entries are stale.
func (v auditPrinter) known(b *strings.Builder) {
	if n := len(v.Findings.Known); n > 0 {
		v.head(b, "known by the baseline")
	}
	for _, f := range v.Findings.Known {
		fmt.Fprintf(b, "  %s %s %s %s\n", v.text(placeText(f.Place)), f.Severity, f.Rule, v.text(f.Object.String()))
	}
	if n := len(v.Findings.Stale); n > 0 {
		v.head(b, "stale in the baseline: no longer found")
	}
	for _, e := range v.Findings.Stale {
		about := e.Object
		for _, other := range []string{e.Unit, e.File} {
			if about == "" {
				about = other
			}
		}
		fmt.Fprintf(b, "  %s %s: %s\n", v.text(e.Rule), v.text(about), v.text(e.Message))
	}
}

func (v auditPrinter) head(b *strings.Builder, text string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(v.term.in(bold, text) + "\n")
}
