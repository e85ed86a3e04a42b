package exclude

import (
	"strings"
	"testing"
)

// FuzzExclusions: rules of a repository are a stranger's text. Whatever they are, the last one wins: * excludes all.
func FuzzExclusions(f *testing.F) {
	f.Add("*.md\n!keep.md\n/docs/", "a/b\n", "a/b/c.yaml")
	f.Add("**/[a-", "!\n\\ \n", "x")
	f.Fuzz(func(t *testing.T, lines, file, path string) {
		for _, e := range []Exclusions{NewExclusions(lines, nil), NewExclusions(lines, map[string]string{"": file, "a": file, "a/b": lines})} {
			if first, again := e.File(path), e.File(path); first != again {
				t.Errorf("two answers about %q", path)
			}
		}
		if plain := strings.Trim(path, "/"); plain != "" && plain != "." && !NewExclusions(lines+"\n*", nil).File(plain) {
			t.Errorf("%q is not excluded by *", plain)
		}
	})
}
