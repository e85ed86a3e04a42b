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

// namedFunction is a row of the table from a watch event to the write: a function, and its file.
var namedFunction = regexp.MustCompile("\\| `(?:\\w+\\.)?(\\w+)` \\| `([\\w/]+\\.go)` \\|")

// TestEveryFunctionOfTheArchitecturePageExists keeps that table true when a function is renamed.
func TestEveryFunctionOfTheArchitecturePageExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := namedFunction.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 10 {
		t.Errorf("the table has %d functions", len(rows))
	}
	for _, row := range rows {
		code, err := os.ReadFile(filepath.Join(root, "internal", row[2]))
		if err != nil {
			t.Error(err)
		} else if !regexp.MustCompile(`(?m)^func (\(.*\) )?` + row[1] + `\(`).Match(code) {
			t.Errorf("%s has no function %s", row[2], row[1])
		}
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
