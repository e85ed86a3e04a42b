package bolt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
)

// TestAFullDiskAtTheFirstStartLeavesNothing: half a file would be damage at each further start.
func TestAFullDiskAtTheFirstStartLeavesNothing(t *testing.T) {
	for _, size := range []string{"0", "1", "4096", "8192", "12288"} {
		path := filepath.Join(t.TempDir(), "journal.db")
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "TRUCE_TEST_DISK="+size, "TRUCE_TEST_JOURNAL="+path)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), syscall.EFBIG.Error()) {
			t.Errorf("%s bytes: %s, %v", size, out, err)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("%s bytes: %v is left", size, left)
		}
		openFile(t, path, bolt.Limits{}).Append(entry(1))
	}
}

// startOn opens a journal in a process whose files may not grow beyond a size, and prints why that fails. It returns the exit code.
func startOn(size, path string) int {
	signal.Ignore(syscall.SIGXFSZ) // else it ends the process
	most, err := strconv.ParseUint(size, 10, 64)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, err = bolt.OpenJournal(path, bolt.Limits{}, slog.New(slog.DiscardHandler))
	fmt.Fprintln(os.Stdout, err)
	return 0
}

// TestAFileOfAnotherVersionIsPutAside, and one of a version that noted none is kept.
func TestAFileOfAnotherVersionIsPutAside(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*bbolt.Tx) error
		entries int
		aside   int
	}{
		"no form":      {func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("truce")) }, 2, 0},
		"a later form": {func(tx *bbolt.Tx) error { return tx.Bucket([]byte("truce")).Put([]byte("form"), []byte("2")) }, 1, 1},
		"an entry that cannot be read": {func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("entries")).Put([]byte("0123456789abcdef"), []byte(`{"at": 7}`))
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			if err := os.WriteFile(path, fileOf(t, 1), 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(c.change), db.Close()); err != nil {
				t.Fatal(err)
			}
			j := openFile(t, path, bolt.Limits{})
			j.Append(entry(2))
			if got := readEntries(t, j, journal.Query{}); len(got) != c.entries {
				t.Errorf("%d entries, want %d", len(got), c.entries)
			}
			if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != c.aside {
				t.Errorf("put aside: %v", aside)
			}
		})
	}
}

// TestAShortFileIsNotReadEither: `truce history --from` reads files of other processes, and a look behind the end would end this one.
func TestAShortFileIsNotReadEither(t *testing.T) {
	whole := fileOf(t, 200)
	for _, n := range []int{1, 4096, 8192, 16384, len(whole) / 2} {
		path := filepath.Join(t.TempDir(), "journal.db")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		err := bolt.ReadFile(path, journal.Query{}, func(journal.Entry) bool { return true })
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%d bytes: %v", n, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(n) {
			t.Errorf("%d bytes: changed: %v, %v", n, info, err)
		}
	}
	if err := bolt.ReadFile(filepath.Join(t.TempDir(), "absent"), journal.Query{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}
