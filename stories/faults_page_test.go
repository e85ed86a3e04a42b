package stories

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writePage writes docs/faults.md.
func (l *ledger) writePage(t *testing.T) {
	t.Helper()
	if l.to == "" {
		return
	}
	if err := os.WriteFile(l.to, []byte(l.text()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const pageHead = `# Faults

Written by ` + "`make faults`" + ` from [the ledger of all trials](../stories/testdata/faults). A proxy between truce and the API server, and between truce and git, does something
wrong with one request of a scene, or with two. Then the scene goes on, and what came of it is judged by a watch that is not truce's and by the API server's audit log.

` + "`make faults FAULTS=500`" + ` goes on where the last run ended, on any machine: the trials that were made least often come first, and the seed decides their order
(` + "`SEED=1`" + `). A trial is repeated by its name: ` + "`go test ./stories -run TestLongFaults -args -faults.only 'prune: 409 at 12'`" + `.

`

const pageBroken = `
## Whether the judge sees anything

On 2026-11-23 two errors were put into a copy of the code: deletes without preconditions, and an apply that takes a 500 for success. All of the 13 trials of a 500 in a prune
were red: 12 by the deletes, and the one at the apply by the end state. A copy that wrote the inventory not at all, or only after the objects, failed without any fault.
`

const pageEarlier = `
## Earlier trials

616 trials with one fault and 40 with two were made before there was a ledger, from three states of the code. Which requests they were about is lost; only
their counts by fault and by scene are left, in this page at commit e1326a4. No promise was broken in them. They are not in the numbers above.
`

// text is docs/faults.md.
func (l *ledger) text() string {
	singles, pairs, points := tally{}, tally{}, map[string]bool{}
	byFault, byScene, byRun := map[string]*tally{}, map[string]*tally{}, map[string]*tally{}
	for k, r := range l.rows {
		if k.pairs {
			pairs.add(r)
		} else {
			singles.add(r)
			for at := range r.points {
				points[k.scene+"\n"+k.fault+"\n"+at] = true
			}
		}
		count(byFault, k.fault, r)
		count(byScene, k.scene, r)
		count(byRun, k.run, r)
	}
	var b strings.Builder
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "%d trials with one fault, at %d different combinations of scene, request and fault; %d trials with two.\n", singles.made, len(points), pairs.made)
	b.WriteString("A trial counts in the column *struck* where its faults happened: a run may have fewer requests than the one without faults.\n\nEach trial is judged by these promises:\n\n")
	for _, p := range promises {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	names := make([]string, 0, len(faultClasses))
	for _, c := range faultClasses {
		names = append(names, c.name)
	}
	table(&b, "fault (of two, the first)", names, byFault)
	table(&b, "scene", slices.Sorted(maps.Keys(byScene)), byScene)
	l.runsTable(&b, byRun)
	b.WriteString("\n## Broken promises\n\n")
	if len(l.broken) == 0 {
		b.WriteString("None.\n")
	}
	for _, x := range l.broken {
		cause := x.cause
		if cause == "" {
			cause = "not yet looked into"
		}
		fmt.Fprintf(&b, "- run %s, %s (`%s`): %s. Cause: %s\n", x.run, x.trial, x.request, x.promise, cause)
	}
	b.WriteString(pageBroken)
	b.WriteString(pageEarlier)
	return b.String()
}

func (l *ledger) runsTable(b *strings.Builder, byRun map[string]*tally) {
	b.WriteString("\n| run | commit | seed | day | trials | struck | with a broken promise |\n|---|---|---|---|---|---|---|\n")
	for _, r := range l.runs {
		if n := byRun[r[0]]; n != nil {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %d | %d |\n", r[0], r[1], r[2], r[3], n.made, n.struck, n.broken)
		}
	}
}

// tally counts trials.
type tally struct{ made, struck, broken int }

func (t *tally) add(r *ledgerRow) {
	t.made, t.struck, t.broken = t.made+r.trials, t.struck+r.struck, t.broken+r.broken
}

func count(in map[string]*tally, name string, r *ledgerRow) {
	if in[name] == nil {
		in[name] = &tally{}
	}
	in[name].add(r)
}

func table(b *strings.Builder, what string, names []string, of map[string]*tally) {
	fmt.Fprintf(b, "\n| %s | trials | struck | with a broken promise |\n|---|---|---|---|\n", what)
	for _, name := range names {
		if t := of[name]; t != nil {
			fmt.Fprintf(b, "| %s | %d | %d | %d |\n", name, t.made, t.struck, t.broken)
		}
	}
}

// TestTheFaultsPageIsTheLedgers compares docs/faults.md with the ledger; with -faults.page it writes the page first.
func TestTheFaultsPageIsTheLedgers(t *testing.T) {
	t.Parallel()
	l := readLedger(t, filepath.Join("testdata", "faults"), "", "", "")
	l.to = *faultsPage
	l.writePage(t)
	text, err := os.ReadFile(filepath.Join("..", "docs", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.text(), string(text)); diff != "" {
		t.Errorf("docs/faults.md is not the ledger's (-ledger +page); write it: go test ./stories -run TestTheFaultsPage -args -faults.page ../docs/faults.md\n%s", diff)
	}
}
