package house

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

	"github.com/truce-gitops/truce/internal/golden"
)

const root = "../.."

// rules are all, in the order in which CONTRIBUTING.md explains them. A story in testdata bears the name of each.
var rules = []rule{
	{"on-the-list", onTheList},
	{"imports-go-down", importsGoDown},
	{"only-wire-imports-children", onlyWireImportsChildren},
	{"parents-stay-inside", parentsStayInside},
	{"judges-only-judge", judgesOnlyJudge},
	{"one-door", oneDoor},
	{"says-what-it-is-for", everyPackageSaysWhatItIsFor},
	{"every-name-documented", everyNameIsDocumented},
	{"no-drawers", noDrawers},
	{"one-word-per-thing", oneWordPerThing},
	{"errors-say-what", errorsSayWhat},
	{"short-files", filesAreShort},
	{"short-functions", functionsFitOnAScreen},
	{"shallow-nesting", nestingIsShallow},
	{"short-signatures", signaturesAreShort},
	{"no-boolean-arguments", noBooleanArguments},
	{"small-interfaces", interfacesAreSmall},
	{"few-names", packagesSayLittle},
	{"no-init", noInit},
	{"no-sleep-in-tests", testsDoNotSleep},
}

// TestTheHouseStandsAsPlanned is the only test here that fails when a rule is broken elsewhere.
func TestTheHouseStandsAsPlanned(t *testing.T) {
	// The go command does its own reading, which the test cache cannot see. Every file is read here too, before it,
	// so that a changed file runs this test again.
	plan, err := os.ReadFile("floors.txt")
	if err != nil {
		t.Fatal(err)
	}
	h, err := read(os.DirFS(root), plan)
	if err != nil {
		t.Fatal(err)
	}
	if h.graph, err = listImports(); err != nil {
		t.Fatal(err)
	}
	for _, f := range h.faults(rules) {
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

// TestEachRuleCanFail runs the stories. Each is a small house; `want` holds what the rules say of it.
func TestEachRuleCanFail(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		h, err := build(in)
		if err != nil {
			t.Fatal(err)
		}
		_, rule, _ := strings.Cut(t.Name(), "/")
		var lines []string
		for _, f := range h.faults(rules) {
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

// build makes a house of the files of a story. Its floors are the story's own, or the real ones.
func build(in golden.Files) (house, error) {
	tree := fstest.MapFS{}
	for name, text := range in {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModePerm &^ fs.ModeType}
	}
	plan := []byte(in["floors.txt"])
	if len(plan) == 0 {
		var err error
		if plan, err = os.ReadFile("floors.txt"); err != nil {
			return house{}, err
		}
	}
	h, err := read(tree, plan)
	if err != nil {
		return house{}, err
	}
	for _, p := range h.pkgs {
		for f := range p.written() {
			for _, path := range f.imports() {
				h.graph[module+p.dir] = append(h.graph[module+p.dir], path)
			}
		}
	}
	for line := range strings.Lines(in["graph"]) { // what somebody else's package imports
		from, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		h.graph[from] = append(h.graph[from], to)
	}
	return h, nil
}

func TestAPlanThatCannotBeReadIsSaid(t *testing.T) {
	for _, plan := range []string{"words object field", "words object\nread object"} {
		if _, err := parseFloors([]byte(plan)); err == nil {
			t.Errorf("plan %q was accepted", plan)
		}
	}
}
