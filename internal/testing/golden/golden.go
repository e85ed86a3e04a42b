// Package golden answers: does a pure stage still give the output that each story has?
//
// In: txtar files, each a title, the inputs of a stage, and a section `want`; a function that runs the stage on them.
// Out: a subtest for each file; with -update (`make golden`) the section `want` is written instead.
// Promise: a story without output, or without a file, fails; only the section `want` is ever rewritten.
// Not here: stories that need a cluster (kubetest) or the whole program (testdata/script).
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

const want = "want"

var update = flag.Bool("update", false, "write what the stages say now into the stories")

// Files are the inputs of a story: the text of each section but `want`, by its name.
type Files map[string]string

// Need returns the section of that name; the test ends when the story has none.
func (f Files) Need(t *testing.T, name string) string {
	t.Helper()
	text, ok := f[name]
	if !ok {
		t.Fatalf("the story has no section -- %s --", name)
	}
	return text
}

// Write puts the sections into a directory as files; one whose text is "-> target" becomes a symbolic link.
func (f Files) Write(t *testing.T, dir string) {
	t.Helper()
	for name, text := range f {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "-> ")
		var err error
		if link {
			err = os.Symlink(strings.TrimSpace(target), name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Run runs each story that matches the pattern as a subtest named like its file. Stage turns the inputs into the text
// that `want` must hold; it may end the test itself. Spaces at the end of that text do not count.
func Run(t *testing.T, pattern string, stage func(*testing.T, Files) string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no story matches %s", pattern)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			got := stage(t, s.inputs())
			if t.Failed() {
				return
			}
			if err := s.settle(got, *update); err != nil {
				t.Error(err)
			}
		})
	}
}

// story is one file.
type story struct {
	path    string
	archive *txtar.Archive
}

func read(path string) (story, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return story{}, err
	}
	if strings.TrimSpace(string(archive.Comment)) == "" {
		return story{}, fmt.Errorf("%s: the story has no title; begin it with a sentence that says what it shows", path)
	}
	return story{path: path, archive: archive}, nil
}

func (s story) inputs() Files {
	in := Files{}
	for _, f := range s.archive.Files {
		if f.Name != want {
			in[f.Name] = string(f.Data)
		}
	}
	return in
}

func (s story) wanted() (index int, found bool) {
	index = slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == want })
	return index, index >= 0
}

// settle compares what the stage said with what the story wants, or rewrites the story.
func (s story) settle(got string, rewrite bool) error {
	got = strings.TrimRight(got, " \n") + "\n"
	i, found := s.wanted()
	if rewrite {
		return s.rewrite(i, got)
	}
	if !found {
		return fmt.Errorf("%s: no section -- %s --; run `make golden` and read what it writes", s.path, want)
	}
	if diff := cmp.Diff(lines(string(s.archive.Files[i].Data)), lines(got)); diff != "" {
		return fmt.Errorf("%s: not as wanted; if the new text is right, run `make golden` (-want +got):\n%s", s.path, diff)
	}
	return nil
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, " \n"), "\n") }

func (s story) rewrite(i int, got string) error {
	if len(txtar.Parse([]byte(got)).Files) > 0 {
		return fmt.Errorf("%s: a line of the output looks like the begin of a section; indent it", s.path)
	}
	if i < 0 {
		i = len(s.archive.Files)
		s.archive.Files = append(s.archive.Files, txtar.File{Name: want})
	}
	s.archive.Files[i].Data = []byte(got)
	return os.WriteFile(s.path, txtar.Format(s.archive), 0o644)
}
