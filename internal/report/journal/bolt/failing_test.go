package bolt_test

import (
	"bytes"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
)

// fullDisk lets no file grow beyond the size until the returned function is called. No other test may write meanwhile.
func fullDisk(t *testing.T, size uint64) (free func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ) // else it ends the process
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Error(err)
		}
	}
	set(syscall.Rlimit{Cur: size, Max: before.Max})
	free = func() { set(before) }
	t.Cleanup(free)
	return free
}

func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openFile(t, path, bolt.Limits{})
	memory := bytes.Repeat([]byte("seven"), 20_000) // does not fit into the file as it is
	free := fullDisk(t, 64<<10)
	j.Remember(web, memory)
	j.Append(entry(1))
	if got := readEntries(t, j, journal.Query{}); len(got) != 0 {
		t.Fatalf("%d entries were written to a full disk", len(got))
	}
	if got, err := j.Recall(web); err != nil || !bytes.Equal(got, memory) {
		t.Errorf("while the disk is full: memory of %d bytes, %v", len(got), err)
	}
	free()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path, bolt.Limits{})
	if got, err := again.Recall(web); err != nil || !bytes.Equal(got, memory) {
		t.Errorf("after a restart: memory of %d bytes, %v, want %d", len(got), err, len(memory))
	}
	if got := readEntries(t, again, journal.Query{}); len(got) != 1 {
		t.Errorf("after a restart: %d entries, want 1", len(got))
	}
}

// TestMoreMemoriesThanMayWaitAreKept: entries are dropped when there are too many at once, memories are not.
func TestMoreMemoriesThanMayWaitAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openFile(t, path, bolt.Limits{})
	const objects = 20_000
	ids := manyIDs(objects)
	for _, id := range ids {
		j.Remember(id, []byte("seven"))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := openFile(t, path, bolt.Limits{})
	lost := 0
	for _, id := range ids {
		if got, err := again.Recall(id); err != nil || string(got) != "seven" {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d memories are lost", lost, objects)
	}
}
