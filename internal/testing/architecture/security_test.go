package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof is a test as docs/security.md writes it: package.Test, or the path of a story.
var proof = regexp.MustCompile("`(?:([\\w/-]+)\\.((?:Test|Fuzz)\\w+)|([\\w./-]+\\.txtar))`")

func TestEveryTestOfTheSecurityPageExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## Advisories\n")
	if !found {
		t.Fatal("the page has no section Advisories")
	}
	rows, all := 0, readTests(t)
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[1]) == "advisory" {
			if strings.HasPrefix(line, "|") && len(cells) != 5 {
				t.Errorf("a row has %d cells, want 3: %.80s", len(cells)-2, line)
			}
			continue
		}
		rows++
		named := proof.FindAllStringSubmatch(cells[3], -1)
		if len(named) == 0 && !strings.Contains(cells[3], "does not apply") {
			t.Errorf("%s: neither a test nor why it does not apply", cells[1])
		}
		for _, m := range named {
			if why := lackOf(all, m[1], m[2], m[3]); why != "" {
				t.Errorf("%s: %s", cells[1], why)
			}
		}
	}
	if rows == 0 {
		t.Error("the table has no rows")
	}
}

// lackOf says what is not there of a test in a package, or of a story; empty where it is there.
func lackOf(all tests, pkg, test, story string) string {
	if story != "" {
		if _, err := os.Stat(filepath.Join(root, story)); err != nil {
			return err.Error()
		}
		return ""
	}
	if !all.holds(func(dir string) bool { return dir == "internal/"+pkg || dir == pkg }, func(name string) bool { return name == test }) {
		return pkg + " has no " + test
	}
	return ""
}
