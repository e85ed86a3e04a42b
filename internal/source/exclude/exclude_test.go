package exclude_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/source/exclude"
)

func TestExclusionsFollowFlux(t *testing.T) {
	for name, tc := range map[string]struct {
		lines   string
		files   map[string]string
		in, out []string
	}{
		"without rules the default list holds": {
			in:  []string{"app.yaml", "a/b.yaml"},
			out: []string{"logo.png", "a/logo.png", ".github/workflows/x.yaml", ".git/config", ".gitmodules", "a/.sops.yaml"},
		},
		"own rules replace the default list, but git's files stay out": {
			lines: "*.txt\n# comment\n\n",
			in:    []string{"logo.png", ".github/workflows/x.yaml"},
			out:   []string{"notes.txt", "a/notes.txt", ".gitattributes"},
		},
		"a file in the tree holds for its own directory": {
			files: map[string]string{"a": "*.txt", ".": "/root.yaml"},
			in:    []string{"notes.txt", "a/root.yaml"},
			out:   []string{"a/notes.txt", "a/b/notes.txt", "root.yaml"},
		},
		"the last match wins, the source's lines come last": {
			lines: "!/keep/**",
			files: map[string]string{".": "/*"},
			in:    []string{"keep/a.yaml"},
			out:   []string{"drop/a.yaml", "top.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := exclude.NewExclusions(tc.lines, tc.files)
			for _, path := range tc.in {
				if rules.File(path) {
					t.Errorf("%s is excluded", path)
				}
			}
			for _, path := range tc.out {
				if !rules.File(path) {
					t.Errorf("%s is not excluded", path)
				}
			}
		})
	}
}
