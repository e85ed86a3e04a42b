package architecture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/testing/golden"
)

const root = "../../.."

// rules are all, in the order in which CONTRIBUTING.md explains them. A story in testdata bears the name of each.
var rules = []rule{
	{"every-package-has-a-place", everyPackageHasAPlace},
	{"imports-go-down", importsGoDown},
	{"pure-packages-are-pure", purePackagesArePure},
	{"one-importer", oneImporter},
	{"raw-values-stay-hidden", rawValuesStayHidden},
	{"deletes-are-listed", deletesAreListed},
	{"says-what-it-is-for", everyPackageSaysWhatItIsFor},
	{"every-name-documented", everyNameIsDocumented},
	{"no-drawers", noDrawers},
	{"one-word-per-thing", oneWordPerThing},
	{"plain-words", plainWords},
	{"errors-say-what", errorsSayWhat},
	{"short-files", filesAreShort},
	{"short-functions", functionsFitOnAScreen},
	{"shallow-nesting", nestingIsShallow},
	{"short-signatures", signaturesAreShort},
	{"no-boolean-arguments", noBooleanArguments},
	{"small-interfaces", interfacesAreSmall},
	{"few-names", packagesSayLittle},
	{"no-init", noInit},
	{"names-say-what-they-do", namesSayWhatTheyDo},
	{"few-function-fields", fieldsAreNoFunctions},
	{"short-chains", chainsAreShort},
	{"no-sleep-in-tests", testsDoNotSleep},
}

// TestTheCodeKeepsItsArchitecture is the only test here that fails when a rule is broken elsewhere.
func TestTheCodeKeepsItsArchitecture(t *testing.T) {
	// The go command does its own reading, which the test cache cannot see. Every file is read here too, before it,
	// so that a changed file runs this test again.
	plan, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	code, err := read(os.DirFS(root), plan)
	if err != nil {
		t.Fatal(err)
	}
	if code.graph, err = listImports(); err != nil {
		t.Fatal(err)
	}
	for _, f := range code.faults(rules) {
		t.Error(f)
	}
}

// listImports asks the go command for the imports of every package that ours reach.
func listImports() (map[string][]string, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	graph := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return graph, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		graph[p.ImportPath] = p.Imports
	}
}

// TestEachRuleCanFail runs the stories. Each is a small tree; `want` holds what the rules report of it.
func TestEachRuleCanFail(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		code, err := build(in)
		if err != nil {
			t.Fatal(err)
		}
		_, rule, _ := strings.Cut(t.Name(), "/")
		var lines []string
		for _, f := range code.faults(rules) {
			if rule != "sound" && f.rule != rule {
				t.Errorf("another rule is broken too: %s", f)
			}
			lines = append(lines, f.String())
		}
		return strings.Join(lines, "\n")
	})
}

func TestEveryRuleHasAStoryThatBreaksIt(t *testing.T) {
	for _, r := range rules {
		text, err := os.ReadFile("testdata/" + r.name + ".txtar")
		if err != nil {
			t.Errorf("rule %s: %v", r.name, err)
		}
		if !strings.Contains(string(text), "["+r.name+"]") {
			t.Errorf("rule %s is broken nowhere in its story", r.name)
		}
	}
}

// build parses the files of a story. Its layers are the story's own, or the real ones.
func build(in golden.Files) (tree, error) {
	files := fstest.MapFS{}
	for name, text := range in {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModePerm &^ fs.ModeType}
	}
	plan := []byte(in["layers.txt"])
	if len(plan) == 0 {
		var err error
		if plan, err = os.ReadFile("layers.txt"); err != nil {
			return tree{}, err
		}
	}
	code, err := read(files, plan)
	if err != nil {
		return tree{}, err
	}
	for _, p := range code.pkgs {
		for f := range p.written() {
			for _, path := range f.imports() {
				code.graph[module+p.dir] = append(code.graph[module+p.dir], path)
			}
		}
	}
	for line := range strings.Lines(in["graph"]) { // the imports of a package of another module
		from, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		code.graph[from] = append(code.graph[from], to)
	}
	return code, nil
}

func TestLayersThatCannotBeReadAreAnError(t *testing.T) {
	for _, plan := range []string{"model", "model object\npure model field object"} {
		if _, err := parseLayers([]byte(plan)); err == nil {
			t.Errorf("plan %q was accepted", plan)
		}
	}
}
