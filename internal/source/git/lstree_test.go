package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/exclude"
	"github.com/truce-gitops/truce/internal/source/tree"
)

const someHash = "07e1a1524592051df399b678a4b13e2a33b9b9a3"

func TestAListingIsReadToItsEnd(t *testing.T) {
	in := "100644 blob " + someHash + "       3\ta/b c\td\n.yaml\x00" + "160000 commit " + someHash + "       -\tsub\x00"
	got, err := readList(strings.NewReader(in), 2)
	want := []tree.Entry{{Path: "a/b c\td\n.yaml", Mode: tree.Regular, Hash: someHash, Size: 3}, {Path: "sub", Mode: tree.Submodule, Hash: someHash}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAListingThatIsWrongIsAnError(t *testing.T) {
	line := func(path string) string { return "100644 blob " + someHash + " 3\t" + path + "\x00" }
	for in, reason := range map[string]source.Reason{
		line("../x"):                             source.PathEscape,
		line("a/../../x"):                        source.PathEscape,
		line("/etc/passwd"):                      source.PathEscape,
		line("a/./b"):                            source.PathEscape,
		line("a//b"):                             source.PathEscape,
		line(""):                                 source.PathEscape,
		line("a") + line("b") + line("c"):        source.LimitExceeded,
		line(strings.Repeat("a", 2<<20)):         source.LimitExceeded,
		"100644 blob " + someHash + " 3\tcut":    "",
		"100644 blob " + someHash + " -3\ta\x00": "",
		"100644 blob ../../x 3\ta\x00":           "",
		"garbage\x00":                            "",
	} {
		_, err := readList(strings.NewReader(in), 2)
		var f *failure
		if err == nil || reason != "" && (!errors.As(err, &f) || f.Reason != reason) {
			t.Errorf("%.60q: %v, want %s", in, err, reason)
		}
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte("100644 blob " + someHash + "       3\ta/b\x00100755 blob " + someHash + " 3\ta/c\x00"))
	f.Add([]byte("120000 blob " + someHash + "       3\ta\x00100644 blob " + someHash + " 3\ta/b\x00"))
	f.Add([]byte("100644 blob " + someHash + " 3\ta/b\x00100644 blob " + someHash + " 3\tb\x00100644 blob " + someHash + " 3\ta/b\x00"))
	f.Add([]byte("100644 blob " + someHash + " 99999999999999999999\ta\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := readList(bytes.NewReader(data), 100)
		if err != nil {
			return
		}
		made, err := tree.NewTree(&repository{}, withoutIgnoreFiles(list), tree.Rules{}, nil)
		if err != nil {
			return
		}
		// Whatever was listed, each path of the tree is valid and leads nowhere else.
		seen := map[string]bool{}
		err = fs.WalkDir(made, ".", func(path string, d fs.DirEntry, err error) error {
			if seen[path] || !fs.ValidPath(path) && strings.ToValidUTF8(path, "") == path {
				return fmt.Errorf("path %q", path)
			}
			seen[path] = true
			if strings.ToValidUTF8(path, "") != path {
				return fs.SkipDir // fs.FS has no such paths
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func withoutIgnoreFiles(list []tree.Entry) (kept []tree.Entry) {
	for _, e := range list {
		if !strings.HasSuffix(e.Path, exclude.IgnoreFile) && e.Mode != tree.Link {
			kept = append(kept, e)
		}
	}
	return kept
}
