package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// quoted is a message as docs/troubleshooting.md quotes it; … stands for names and values.
var quoted = regexp.MustCompile("`([^`]+)`")

// TestTheMessagesOfTheTroubleshootingPageExist looks for a part of each message in the program's texts: a change of a message is a change of the page.
func TestTheMessagesOfTheTroubleshootingPageExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(page), "\n## Fields\n")
	if !found {
		t.Fatal("the page has no section Fields")
	}
	texts := textsOf(t, filepath.Join(root, "internal"))
	rows := 0
	for _, line := range strings.Split(tables, "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		rows++
		if !slices.ContainsFunc(quoted.FindAllStringSubmatch(cells[0], -1), func(m []string) bool { return known(texts, m[1]) }) {
			t.Errorf("docs/troubleshooting.md: no text of the program is like %s; correct the page if the message has changed", strings.TrimPrefix(cells[0], "| "))
		}
	}
	if rows == 0 {
		t.Error("the page has no table of messages")
	}
}

// known reports whether a part of a message, of at least seven characters, is in the texts.
func known(texts, message string) bool {
	const least = 7
	for _, verdict := range []string{"Hold: ", "Contested: ", "Reclaim: ", "Apply: "} {
		message = strings.TrimPrefix(message, verdict)
	}
	parts := strings.Split(message, "…")
	return slices.ContainsFunc(parts, func(part string) bool {
		part = strings.Trim(part, " :;,.()")
		return len(part) >= least && strings.Contains(texts, part)
	})
}

// textsOf joins the texts in the Go files below a directory, tests excluded.
func textsOf(t *testing.T, dir string) string {
	t.Helper()
	var texts strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					texts.WriteString(text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts.String()
}
