package stories

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ledger is what is known of all trials, in a directory of three files that are committed: a run goes on where the last one ended, on any
// machine. `make faults` writes them after each trial.
//
//   - runs.csv: the commit, the seed and the day of each run.
//   - ledger.csv: for each scene and first fault, the requests at which a run injected it, and how many trials came of that.
//   - broken.csv: each promise that did not hold. Its last column, the cause, is for people to write.
type ledger struct {
	mu     sync.Mutex
	dir    string // empty: nothing is written
	to     string // the page that is written with the files; empty for none
	run    string // the number of this run
	runs   [][]string
	rows   map[rowKey]*ledgerRow
	broken []brokenPromise
}

// rowKey is what a line of ledger.csv is about.
type rowKey struct {
	scene, fault string
	pairs        bool
	run          string
}

// ledgerRow counts the trials of a line of ledger.csv.
type ledgerRow struct {
	points                 map[string]int // how often each was tried: a request's number, and of a pair "AT & FAULT at AT"
	trials, struck, broken int
}

// brokenPromise is a line of broken.csv.
type brokenPromise struct{ run, trial, request, promise, cause string }

const (
	runsHeader   = "run,commit,seed,day"
	ledgerHeader = "scene,fault,faults,run,trials,struck,broken,at"
	brokenHeader = "run,trial,request,promise,cause"
)

// readLedger reads the files, which need not exist, and begins a run, or goes on with the last one if that has the same commit and seed.
func readLedger(t *testing.T, dir, commit, seed, day string) *ledger {
	t.Helper()
	l := &ledger{dir: dir, rows: map[rowKey]*ledgerRow{}}
	if dir != "" {
		l.runs = readCSV(t, filepath.Join(dir, "runs.csv"), runsHeader)
		for _, r := range readCSV(t, filepath.Join(dir, "ledger.csv"), ledgerHeader) {
			row := l.row(rowKey{r[0], r[1], r[2] == "2", r[3]})
			row.trials, row.struck, row.broken, row.points = number(t, r[4]), number(t, r[5]), number(t, r[6]), pointsIn(t, r[7], r[2] == "2")
		}
		for _, r := range readCSV(t, filepath.Join(dir, "broken.csv"), brokenHeader) {
			l.broken = append(l.broken, brokenPromise{r[0], r[1], r[2], r[3], r[4]})
		}
	}
	if n := len(l.runs); n == 0 || l.runs[n-1][1] != commit || l.runs[n-1][2] != seed {
		l.runs = append(l.runs, []string{strconv.Itoa(n + 1), commit, seed, day})
	}
	l.run = l.runs[len(l.runs)-1][0]
	return l
}

func (l *ledger) row(k rowKey) *ledgerRow {
	if l.rows[k] == nil {
		l.rows[k] = &ledgerRow{points: map[string]int{}}
	}
	return l.rows[k]
}

// pointOf is where a trial injects its faults, in the form of ledger.csv.
func pointOf(x trial) string {
	at := strconv.Itoa(x.Hits[0].At)
	if len(x.Hits) > 1 {
		at += " & " + x.Hits[1].String()
	}
	return at
}

// times is how often a trial was made, in all runs.
func (l *ledger) times(x trial) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, run := range l.runs {
		if row := l.rows[rowKey{x.Scene, x.Hits[0].Fault, len(x.Hits) > 1, run[0]}]; row != nil {
			n += row.points[pointOf(x)]
		}
	}
	return n
}

// pairs is how many trials with two faults were made.
func (l *ledger) pairs() int {
	n := 0
	for k, r := range l.rows {
		if k.pairs {
			n += r.trials
		}
	}
	return n
}

// add writes down a trial.
func (l *ledger) add(t *testing.T, x trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.row(rowKey{x.Scene, x.Hits[0].Fault, len(x.Hits) > 1, l.run})
	row.trials++
	row.points[pointOf(x)]++
	if x.Struck == len(x.Hits) {
		row.struck++
	}
	if len(x.Broken) > 0 {
		row.broken++
	}
	for _, p := range x.Broken {
		l.broken = append(l.broken, brokenPromise{run: l.run, trial: x.name(), request: x.Request, promise: p})
	}
	if err := l.write(); err != nil {
		t.Error(err)
	}
	l.writePage(t)
}

// write replaces the files. The caller holds mu.
func (l *ledger) write() error {
	if l.dir == "" {
		return nil
	}
	keys := make([]rowKey, 0, len(l.rows))
	for k := range l.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(a.scene, b.scene), cmp.Compare(a.fault, b.fault), cmp.Compare(faultsOf(a.pairs), faultsOf(b.pairs)), cmp.Compare(len(a.run), len(b.run)), cmp.Compare(a.run, b.run))
	})
	var rows, broken [][]string
	for _, k := range keys {
		r := l.rows[k]
		rows = append(rows, []string{k.scene, k.fault, faultsOf(k.pairs), k.run, strconv.Itoa(r.trials), strconv.Itoa(r.struck), strconv.Itoa(r.broken), textOf(r.points, k.pairs)})
	}
	for _, b := range l.broken {
		broken = append(broken, []string{b.run, b.trial, b.request, b.promise, b.cause})
	}
	return errors.Join(os.MkdirAll(l.dir, 0o755), writeCSV(filepath.Join(l.dir, "runs.csv"), runsHeader, l.runs),
		writeCSV(filepath.Join(l.dir, "ledger.csv"), ledgerHeader, rows), writeCSV(filepath.Join(l.dir, "broken.csv"), brokenHeader, broken))
}

func faultsOf(pairs bool) string {
	if pairs {
		return "2"
	}
	return "1"
}

// textOf is the points of a line: of single faults as ranges, "1-12 14 20x2"; of pairs one after the other.
func textOf(points map[string]int, pairs bool) string {
	times := func(n int) string {
		if n == 1 {
			return ""
		}
		return fmt.Sprintf("x%d", n)
	}
	var out []string
	if pairs {
		for p, n := range points {
			out = append(out, p+times(n))
		}
		slices.Sort(out)
		return strings.Join(out, "; ")
	}
	most := 0
	for p := range points {
		at, _ := strconv.Atoi(p) // written by pointOf
		most = max(most, at)
	}
	for from := 1; from <= most; from++ {
		n := points[strconv.Itoa(from)]
		if n == 0 {
			continue
		}
		to := from
		for points[strconv.Itoa(to+1)] == n {
			to++
		}
		text := strconv.Itoa(from)
		if to > from {
			text += "-" + strconv.Itoa(to)
		}
		out = append(out, text+times(n))
		from = to
	}
	return strings.Join(out, " ")
}

// pointsIn is the inverse of textOf.
func pointsIn(t *testing.T, text string, pairs bool) map[string]int {
	t.Helper()
	out := map[string]int{}
	if pairs {
		for p := range strings.SplitSeq(text, "; ") {
			n := 1
			if i := strings.LastIndex(p, "x"); i > strings.LastIndex(p, " ") {
				p, n = p[:i], number(t, p[i+1:])
			}
			out[p] += n
		}
		return out
	}
	for p := range strings.FieldsSeq(text) {
		p, times, several := strings.Cut(p, "x")
		n := 1
		if several {
			n = number(t, times)
		}
		from, to, isRange := strings.Cut(p, "-")
		if !isRange {
			to = from
		}
		for at := number(t, from); at <= number(t, to); at++ {
			out[strconv.Itoa(at)] += n
		}
	}
	return out
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("the ledger: %v", err)
	}
	return n
}

// readCSV returns the lines below the header; none of a file that does not exist.
func readCSV(t *testing.T, path, header string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err == nil && (len(lines) == 0 || strings.Join(lines[0], ",") != header) {
		err = fmt.Errorf("the first line is not %q", header)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return lines[1:]
}

// writeCSV replaces a file at once: a run may be ended at any time.
func writeCSV(path, header string, lines [][]string) error {
	var b strings.Builder
	w := csv.NewWriter(&b)
	err := w.WriteAll(append([][]string{strings.Split(header, ",")}, lines...))
	if err == nil {
		err = os.WriteFile(path+".new", []byte(b.String()), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// TestTheLedgerKeepsWhatWasTried writes trials down and reads them again.
func TestTheLedgerKeepsWhatWasTried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := readLedger(t, dir, "abc", "1", "2026-01-01")
	single := func(at int) trial { return trial{Scene: "prune", Hits: []hit{{"409", at}}, Struck: 1} }
	pair := trial{Scene: "prune", Hits: []hit{{"409", 3}, {"no answer", 7}}, Struck: 1, Broken: []string{noFlap}, Request: "GET /"}
	for _, x := range []trial{single(1), single(2), single(3), single(3), single(12), pair, pair} {
		l.add(t, x)
	}
	readLedger(t, dir, "abc", "1", "2026-01-02") // which adds nothing
	l = readLedger(t, dir, "def", "1", "2026-01-02")
	l.add(t, single(2))
	text, err := os.ReadFile(filepath.Join(dir, "ledger.csv"))
	if err != nil {
		t.Fatal(err)
	}
	const want = ledgerHeader + `
prune,409,1,1,5,5,0,1-2 3x2 12
prune,409,1,2,1,1,0,2
prune,409,2,1,2,0,2,3 & no answer at 7x2
`
	if got := string(text); got != want {
		t.Errorf("ledger.csv:\n%swant\n%s", got, want)
	}
	l = readLedger(t, dir, "def", "1", "2026-01-02")
	if got := []int{l.times(single(2)), l.times(single(3)), l.times(single(4)), l.times(pair)}; !slices.Equal(got, []int{2, 2, 0, 2}) {
		t.Errorf("tried so many times: %v", got)
	}
	if got := len(l.broken); got != 2 {
		t.Errorf("%d broken promises, want 2", got)
	}
	if got := len(l.runs); got != 2 {
		t.Errorf("%d runs, want 2", got)
	}
}
