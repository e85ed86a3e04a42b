package git_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestFilesOfOtherRepositoriesArePutIntoATree(t *testing.T) {
	own := gittest.New(t, map[string]string{"app/a.yaml": "a", "z.yaml": "z", "app.yaml": "x"})
	own.Symlink("app/link", "../vendor/lib/deep/b.yaml")
	lib := gittest.New(t, map[string]string{"deploy/deep/b.yaml": "b", "deploy/.sourceignore": "*.txt\n", "deploy/c.txt": "c", "d.yaml": "d", "logo.png": "no"})
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	a, b := fetch(t, s, mainOf(gittest.ServeHTTP(t, own, gittest.HTTPOptions{}).URL)), fetch(t, s, mainOf(gittest.ServeHTTP(t, lib, gittest.HTTPOptions{}).URL))
	part := func(from, to string) tree.Part { return tree.Part{Name: "lib", Artifact: b, From: from, To: to} }
	for name, tc := range map[string]struct {
		parts []tree.Part
		rules tree.Rules
		want  map[string]string
		fails string
	}{
		"a directory, and a file": {
			parts: []tree.Part{part("deploy", "vendor/lib"), part("d.yaml", "app/d.yaml")},
			want: map[string]string{
				"app/a.yaml": "a", "app.yaml": "x", "z.yaml": "z", "app/link": "b", "app/d.yaml": "d", "vendor/lib/deep/b.yaml": "b", "vendor/lib/.sourceignore": "*.txt\n",
			},
		},
		"to the top, with the rules of the one that includes": {
			parts: []tree.Part{part(".", "."), part("deploy", "vendor/lib")}, rules: tree.Rules{Ignore: "z.yaml\nd.yaml\n"},
			want: map[string]string{
				"app/a.yaml": "a", "app.yaml": "x", "app/link": "b", "deploy/deep/b.yaml": "b", "deploy/.sourceignore": "*.txt\n", "logo.png": "no",
				"vendor/lib/deep/b.yaml": "b", "vendor/lib/.sourceignore": "*.txt\n",
			},
		},
		"the same file":          {parts: []tree.Part{part("d.yaml", "app/a.yaml")}, fails: "app/a.yaml is in the repository itself, and app/a.yaml in lib: choose another toPath"},
		"below a file":           {parts: []tree.Part{part("deploy", "app.yaml")}, fails: "app.yaml is in the repository itself, and app.yaml/"},
		"a file for a directory": {parts: []tree.Part{part("d.yaml", "app")}, fails: "app is in lib, and app/a.yaml in the repository itself"},
		"no such directory":      {parts: []tree.Part{part("gone", "x")}, fails: `fromPath "gone" of lib`},
		"too many":               {parts: []tree.Part{part(".", "x")}, rules: tree.Rules{Limits: source.Limits{Files: 5}}, fails: "more than 5 files"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tree.Combine(t.Context(), a, tc.parts, tc.rules)
			if tc.fails != "" {
				var e *source.Error
				if !errors.As(err, &e) || e.Reason != source.IncludeCopyFailure || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%v, want %q", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, filesOf(t, got.Files)); diff != "" {
				t.Error(diff)
			}
			if got.Revision != a.Revision || got.Digest == a.Digest || len(got.Included) != len(tc.parts) || got.Included[0].Revision != b.Revision {
				t.Errorf("%+v", got)
			}
		})
	}
	all, err := tree.Combine(t.Context(), a, []tree.Part{part("deploy", "lib")}, tree.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Retain([]source.Artifact{all}, 0); err != nil {
		t.Fatal(err)
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "clones", "*")); len(kept) != 2 {
		t.Errorf("the clones that are read from: %q", kept)
	}
}
