package architecture

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	testName     = regexp.MustCompile(`([\w/]+)\.((?:Test|Fuzz)[A-Z]\w+)|\b((?:Test|Fuzz)[A-Z][a-z]+[A-Z]\w+)`) // `TestFailed` is a reason of Helm's
	testCommand  = regexp.MustCompile("`go test ([^`]+)`")
	testPattern  = regexp.MustCompile(`-run (?:'([^']+)'|"([^"]+)"|(\S+))`)
	packagePath  = regexp.MustCompile(`\./\w+(?:/\w+)*(?:/\.\.\.)?`)
)

// tests are those of the repository, by the directory of their package below its root.
type tests map[string][]string

func readTests(t *testing.T) tests {
	t.Helper()
	out := tests{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir, _ := filepath.Rel(root, filepath.Dir(path)) // both are below root
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			out[dir] = append(out[dir], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// holds reports whether a package of some has a test that is chosen.
func (all tests) holds(isMeant func(dir string) bool, isChosen func(test string) bool) bool {
	for dir, names := range all {
		if isMeant(dir) && slices.ContainsFunc(names, isChosen) {
			return true
		}
	}
	return false
}

// isIn says whether a package is one of those that a command names.
func isIn(arguments string) func(dir string) bool {
	return func(dir string) bool {
		return slices.ContainsFunc(packagePath.FindAllString(arguments, -1), func(p string) bool {
			p, below := strings.CutSuffix(strings.TrimPrefix(p, "./"), "/...")
			return dir == p || below && strings.HasPrefix(dir, p+"/")
		})
	}
}

// lacks are what a document names and is not there: a test, one of its package, or what a command is to run. A name may be the beginning of several.
func (all tests) lacks(document string) []string {
	out := map[string]bool{}
	for _, m := range testName.FindAllStringSubmatch(document, -1) {
		of := func(dir string) bool { return m[1] == "" || strings.HasSuffix("/"+dir, "/"+m[1]) }
		if !all.holds(of, func(test string) bool { return strings.HasPrefix(test, m[2]+m[3]) }) {
			out[m[0]] = true
		}
	}
	for _, command := range testCommand.FindAllStringSubmatch(document, -1) {
		pattern := testPattern.FindStringSubmatch(strings.ReplaceAll(command[1], `\|`, "|"))
		if pattern == nil || !strings.Contains(command[1], "./") {
			continue
		}
		for _, part := range strings.Split(pattern[1]+pattern[2]+pattern[3], "|") {
			name, _, _ := strings.Cut(strings.Trim(part, "()^$"), "/")
			expression, err := regexp.Compile(name)
			if name != "NAME" && (err != nil || !all.holds(isIn(command[1]), expression.MatchString)) {
				out[name+" in "+command[0]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

func TestEveryTestOfTheDocumentsExists(t *testing.T) {
	all := readTests(t)
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(documents, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, lack := range all.lacks(string(text)) {
			t.Errorf("%s names %s, which is not there", filepath.Base(path), lack)
		}
	}
}

func TestWhatADocumentNamesWronglyIsFound(t *testing.T) {
	all := tests{"internal/model/health": {"TestTheCause"}, "stories": {"TestAnApp", "TestAnAppOfOthers"}}
	for document, want := range map[string]string{
		"`health.TestTheCause`, `stories.TestAnApp`, `model/health.TestThe`": "",
		"`decide.TestTheCause`": "decide.TestTheCause",
		"`TestNothingAtAll`":    "TestNothingAtAll",
		"`go test ./stories -run 'AnApp\\|Others$'`; `go test ./internal/... -run Cause`": "",
		"`go test ./stories -run 'AnApp\\|Cause'`":                                        "Cause in `go test ./stories -run 'AnApp\\|Cause'`",
		"`go test ./internal/model/gone -run Cause`":                                      "Cause in `go test ./internal/model/gone -run Cause`",
	} {
		if got := strings.Join(all.lacks(document), ", "); got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}
