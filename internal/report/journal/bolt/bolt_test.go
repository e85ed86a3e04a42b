package bolt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
)

var (
	web = object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	now = time.Now().UTC().Truncate(time.Second)
)

// TestMain is also the process that the test of SIGKILL kills, and one that starts on a full disk.
func TestMain(m *testing.M) {
	if size := os.Getenv("TRUCE_TEST_DISK"); size != "" {
		os.Exit(startOn(size, os.Getenv("TRUCE_TEST_JOURNAL")))
	}
	if path := os.Getenv("TRUCE_TEST_JOURNAL"); path != "" {
		scribble(path)
	}
	os.Exit(m.Run())
}

// scribble writes without end, and says so after each entry that is safe.
func scribble(path string) {
	j, err := bolt.OpenJournal(path, bolt.Limits{}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for n := 0; ; n++ {
		j.Append(entry(n))
		j.Remember(web, fmt.Appendf(nil, "%d", n))
		if err := j.Read(journal.Query{Since: now.Add(time.Hour)}, func(journal.Entry) bool { return true }); err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, n)
	}
}

func entry(n int) journal.Entry {
	return journal.Entry{
		At: now, App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, What: journal.Corrected,
		Object: web, Path: ".spec.replicas", Git: float64(3), Live: float64(n), Writer: "kubectl (scale)",
	}
}

func manyIDs(n int) []object.ID {
	out := make([]object.ID, n)
	for i := range out {
		out[i] = object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("settings-", i)}
	}
	return out
}

func openFile(t *testing.T, path string, l bolt.Limits) *bolt.Journal {
	t.Helper()
	j, err := bolt.OpenJournal(path, l, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func readEntries(t *testing.T, j *bolt.Journal, q journal.Query) []journal.Entry {
	t.Helper()
	var out []journal.Entry
	if err := j.Read(q, func(e journal.Entry) bool { out = append(out, e); return true }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatWasWrittenIsReadAtOnceAndAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "journal.db")
	j := openFile(t, path, bolt.Limits{})
	want := []journal.Entry{entry(0), entry(1), entry(2)}
	j.Append(want...)
	j.Remember(web, []byte("seven"))
	check := func(j *bolt.Journal) {
		t.Helper()
		if diff := cmp.Diff(want, readEntries(t, j, journal.Query{})); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		if got, err := j.Recall(web); err != nil || string(got) != "seven" {
			t.Errorf("memory %q, %v", got, err)
		}
	}
	check(j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	check(openFile(t, path, bolt.Limits{}))
}

func TestAMemoryThatIsForgottenIsGone(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{})
	j.Remember(web, []byte("seven"))
	j.Remember(web, nil)
	readEntries(t, j, journal.Query{}) // makes it safe
	if got, err := j.Recall(web); err != nil || got != nil {
		t.Errorf("memory %q, %v", got, err)
	}
}

func TestTheOldestEntriesGo(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{Entries: 10, Age: time.Hour})
	old := entry(-1)
	old.At = now.Add(-2 * time.Hour)
	j.Append(old)
	for n := range 25 {
		j.Append(entry(n))
	}
	got := readEntries(t, j, journal.Query{})
	if len(got) != 10 || got[0].Live != float64(15) || got[9].Live != float64(24) {
		t.Errorf("%d entries, the first %v", len(got), got[0].Live)
	}
}

func TestAQueryChooses(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{})
	early, other := entry(1), entry(2)
	early.At = now.Add(-time.Hour)
	other.App.Name, other.Object.Name = "api", "api"
	j.Append(early, entry(0), other)
	for name, c := range map[string]struct {
		q    journal.Query
		want int
	}{
		"all": {journal.Query{}, 3}, "since": {journal.Query{Since: now}, 2}, "until": {journal.Query{Until: now.Add(-time.Minute)}, 1},
		"app":  {journal.Query{App: app.Key{Namespace: "flux-system", Name: "api"}}, 1},
		"name": {journal.Query{App: app.Key{Name: "api"}}, 1}, "namespace": {journal.Query{App: app.Key{Namespace: "elsewhere"}}, 0},
		"kind":   {journal.Query{App: app.Key{Kind: "Application", Namespace: "flux-system", Name: "api"}}, 0},
		"object": {journal.Query{Object: web}, 2},
	} {
		if got := readEntries(t, j, c.q); len(got) != c.want {
			t.Errorf("%s: %d entries, want %d", name, len(got), c.want)
		}
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	openFile(t, path, bolt.Limits{})
	if _, err := bolt.OpenJournal(path, bolt.Limits{}, slog.New(slog.DiscardHandler)); !errors.Is(err, boltfile.ErrInUse) {
		t.Errorf("a second process gets %v", err)
	}
}

// fileOf is the file of a journal with so many entries.
func fileOf(t *testing.T, entries int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openFile(t, path, bolt.Limits{})
	for n := range entries {
		j.Append(entry(n))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func TestADamagedFileIsPutAside(t *testing.T) {
	whole := fileOf(t, 500)
	for name, damage := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte { return []byte(strings.Repeat("not a database ", 1000)) },
		"cut off":     func(b []byte) []byte { return b[:len(b)/2] },
		"overwritten": func(b []byte) []byte {
			for i := 4 * os.Getpagesize(); i < len(b); i++ {
				b[i] = 0xa5
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			if err := os.WriteFile(path, damage(append([]byte{}, whole...)), 0o600); err != nil {
				t.Fatal(err)
			}
			j := openFile(t, path, bolt.Limits{})
			j.Append(entry(1))
			if got := readEntries(t, j, journal.Query{}); len(got) != 1 {
				t.Errorf("%d entries", len(got))
			}
			if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 1 {
				t.Errorf("put aside: %v", aside)
			}
		})
	}
}

// TestAShortFileIsPutAside cuts a journal off at many lengths, as a full disk does. A look behind the end would end the process (SIGBUS).
func TestAShortFileIsPutAside(t *testing.T) {
	whole := fileOf(t, 200)
	lengths := []int{1, 15, 79, 80, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 16383, 16384}
	for n := 20480; n < len(whole); n += len(whole) / 16 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		path := filepath.Join(t.TempDir(), "journal.db")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j := openFile(t, path, bolt.Limits{})
		j.Append(entry(1))
		got := len(readEntries(t, j, journal.Query{}))
		aside, _ := filepath.Glob(path + ".damaged-*")
		if kept := got == 201 && len(aside) == 0; !kept && (got != 1 || len(aside) != 1) { // behind what is in use a file may end anywhere
			t.Errorf("%d of %d bytes: %d entries, put aside: %v", n, len(whole), got, aside)
		}
	}
}

// TestAJournalOutlivesAMetaPageThatWasWrittenInPart: there are two, and a crash in the middle of one leaves the other.
func TestAJournalOutlivesAMetaPageThatWasWrittenInPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, fileOf(t, 200), 0o600); err != nil {
		t.Fatal(err)
	}
	j := openFile(t, path, bolt.Limits{}) // opening it writes, so that the page before the newest has the entries, too
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, os.Getpagesize()} {
		path := filepath.Join(t.TempDir(), "journal.db")
		torn := slices.Clone(whole)
		binary.NativeEndian.PutUint64(torn[at+56:], 1<<20) // how many pages are in use
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		got := len(readEntries(t, openFile(t, path, bolt.Limits{}), journal.Query{}))
		if aside, _ := filepath.Glob(path + ".damaged-*"); got != 200 || len(aside) != 0 {
			t.Errorf("the page at %d: %d entries, put aside: %v", at, got, aside)
		}
	}
}

func TestManyWriteAtOnce(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{})
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for n := range 100 {
				j.Append(entry(n))
				j.Remember(web, []byte{byte(n)})
			}
		})
	}
	g.Wait()
	if got := readEntries(t, j, journal.Query{}); len(got) != 800 {
		t.Errorf("%d entries, want 800", len(got))
	}
}

func TestASIGKILLLosesNothingThatWasSafe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "TRUCE_TEST_JOURNAL="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var n int
	for n < 20 {
		if _, err := fmt.Fscanln(out, &n); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	j := openFile(t, path, bolt.Limits{})
	if got := readEntries(t, j, journal.Query{}); len(got) < 21 {
		t.Errorf("%d entries, want those that were safe: 21", len(got))
	}
	memory, err := j.Recall(web)
	if err != nil || len(memory) == 0 {
		t.Errorf("memory %q, %v", memory, err)
	}
}
