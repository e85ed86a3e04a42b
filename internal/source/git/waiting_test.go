package git_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestFewProcessesWaitForAnotherRead: a process of git for each of many repositories, for half a minute after each was read once, is half a gigabyte
// for a thousand. Who reads again has what is there, whichever process has ended.
func TestFewProcessesWaitForAnotherRead(t *testing.T) {
	const many, most = 24, 8
	top, s := t.TempDir(), newStore(t)
	trees := make([]fs.FS, many)
	for i := range trees {
		r := gittest.New(t, map[string]string{"a": fmt.Sprint("first ", i), "b": fmt.Sprint("second ", i)})
		dir := filepath.Join(top, fmt.Sprint(i))
		if err := os.Rename(r.Dir, dir); err != nil {
			t.Fatal(err)
		}
		trees[i] = fetch(t, s, mainOf("file://"+dir)).Files
		read(t, trees[i], "a", fmt.Sprint("first ", i))
	}
	if n := len(readers(t, top)); n > most || n == 0 {
		t.Errorf("%d processes wait for another read, want at most %d", n, most)
	}
	var all sync.WaitGroup
	for i := range trees {
		all.Go(func() { read(t, trees[i], "b", fmt.Sprint("second ", i)) })
	}
	all.Wait()
	if n := len(readers(t, top)); n > most {
		t.Errorf("%d processes wait after reads at the same time, want at most %d", n, most)
	}
}

func read(t *testing.T, files fs.FS, name, want string) {
	t.Helper()
	if got, err := fs.ReadFile(files, name); err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
