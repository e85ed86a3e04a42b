package bolt_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
)

func TestAJournalIsReadInPagesWithoutLossOrRepetition(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{})
	const many = 1500 // several pages
	for n := range many {
		j.Append(entry(n))
	}
	for i, e := range readEntries(t, j, journal.Query{}) {
		if e.Live != float64(i) {
			t.Fatalf("entry %d is %v", i, e.Live)
		}
	}
	if got := readEntries(t, j, journal.Query{Since: now}); len(got) != many {
		t.Errorf("%d entries, want %d", len(got), many)
	}
}

func TestAReaderThatIsSlowHoldsUpNoWriter(t *testing.T) {
	j := openFile(t, filepath.Join(t.TempDir(), "journal.db"), bolt.Limits{})
	j.Append(entry(0), entry(1))
	err := j.Read(journal.Query{}, func(journal.Entry) bool {
		for n := range 2000 { // the file grows, for which no transaction may be open
			j.Append(entry(n))
		}
		later := readEntries(t, j, journal.Query{})
		if len(later) != 2002 {
			t.Errorf("%d entries while somebody reads, want 2002", len(later))
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadingAFileChangesNothingOfIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	j, err := bolt.OpenJournal(path, bolt.Limits{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	j.Append(entry(1))
	if err := bolt.ReadFile(path, journal.Query{}, nil); !errors.Is(err, boltfile.ErrInUse) {
		t.Errorf("a journal that is written: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []journal.Entry
	if err := bolt.ReadFile(path, journal.Query{}, func(e journal.Entry) bool { got = append(got, e); return true }); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]journal.Entry{entry(1)}, got); diff != "" || string(before) != string(after) {
		t.Errorf("changed: %v; entries (-want +got):\n%s", string(before) != string(after), diff)
	}
	if err := os.WriteFile(path, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bolt.ReadFile(path, journal.Query{}, nil); err == nil {
		t.Error("what is no journal is read")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("put aside: %v", left)
	}
}
