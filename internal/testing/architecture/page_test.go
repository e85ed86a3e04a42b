package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quotedPath is a file or directory as ARCHITECTURE.md quotes it: below the root of the repository or below internal/.
var quotedPath = regexp.MustCompile("`([\\w.-]+(?:/[\\w.*-]+)*\\.(?:go|yaml|txt|txtar|md)|[\\w-]+(?:/[\\w-]+)+/?)`")

// TestEveryPathOfTheArchitecturePageExists keeps the page true when a file moves.
func TestEveryPathOfTheArchitecturePageExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range quotedPath.FindAllStringSubmatch(line, -1) {
			if found++; !exists(m[1]) {
				t.Errorf("ARCHITECTURE.md:%d: %s: no such file", i+1, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("the page quotes no path")
	}
}

func exists(name string) bool {
	for _, below := range []string{"", "internal"} {
		if found, err := filepath.Glob(filepath.Join(root, below, filepath.FromSlash(name))); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
