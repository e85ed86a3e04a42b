package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
)

// What a table shows of things that were left out, unless --skipped lists them all.
const (
	fewSkipped     = 3 // of one reason: they are listed; of more there are two examples
	fewBroken      = 9 // the same of what should have been readable
	examplesOfMany = 2
	mostSkipped    = 20 // lines of those that are few of their reason
)

// skipped prints what does not render and what was not looked into, grouped by reason.
func (v auditPrinter) skipped(b *strings.Builder) {
	cut := false
	for _, part := range []struct {
		head   string
		broken bool
		few    int
	}{{"does not render", true, fewBroken}, {"not looked into", false, fewSkipped}} {
		all := slices.DeleteFunc(v.Left(), func(k discover.Skipped) bool { return k.Broken != part.broken })
		if len(all) == 0 {
			continue
		}
		v.head(b, part.head)
		if v.allSkipped {
			v.each(b, all)
			continue
		}
		cut = v.groups(b, all, part.few) || cut
	}
	if cut {
		b.WriteString(v.term.in(faint, "--skipped lists each") + "\n")
	}
}

func (v auditPrinter) each(b *strings.Builder, all []discover.Skipped) {
	for _, k := range all {
		fmt.Fprintf(b, "  %s %s: %s\n", v.text(skippedAt(k)), v.text(k.What), v.text(k.Why))
	}
}

// groups prints the reasons that are frequent with examples, and what else there is by itself. It reports whether it left anything out.
func (v auditPrinter) groups(b *strings.Builder, all []discover.Skipped, few int) (cut bool) {
	alone := map[discover.Skipped]bool{}
	for _, g := range discover.Grouped(all) {
		if len(g.All) <= few {
			for _, k := range g.All {
				alone[k] = true
			}
			continue
		}
		fmt.Fprintf(b, "  %d: %s\n", len(g.All), v.text(g.Why))
		for _, k := range g.All[:examplesOfMany] {
			fmt.Fprintf(b, "    %s %s\n", v.text(skippedAt(k)), v.text(k.What))
		}
		fmt.Fprintf(b, "    and %d more\n", len(g.All)-examplesOfMany)
		cut = true
	}
	single := slices.DeleteFunc(slices.Clone(all), func(k discover.Skipped) bool { return !alone[k] })
	v.each(b, single[:min(mostSkipped, len(single))])
	if more := len(single) - mostSkipped; more > 0 {
		fmt.Fprintf(b, "  and %d more for other reasons\n", more)
		cut = true
	}
	return cut
}

func skippedAt(k discover.Skipped) string {
	if k.Line == 0 {
		return k.File
	}
	return fmt.Sprintf("%s:%d", k.File, k.Line)
}
