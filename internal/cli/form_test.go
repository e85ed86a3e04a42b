package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

// printedApps are the apps of print_test.go.
type printedApps struct{ AppReader }

func (printedApps) Follow(_ context.Context, _ app.Key, seen func([]view.Summary) bool) error {
	seen(summaries())
	return nil
}

// listed runs `truce app list` over the summaries of print_test.go, and returns what it prints and its exit code.
func listed(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, told bytes.Buffer
	b := Backend{Clusters: answers{Cluster{AppReader: printedApps{}}}}
	code = Execute(t.Context(), Environment{Out: &out, Err: &told, Program: "truce", Args: append([]string{"app", "list", "-A"}, args...), Getenv: func(string) string { return "" }}, b)
	return out.String(), told.String(), code
}

func TestOutputFormsAreKubectls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "columns")
	if err := os.WriteFile(file, []byte("NAME   WHERE\n.metadata.name {.metadata.namespace}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"-o jsonpath={.items[*].metadata.name}":                                       "cart web",
		`-o jsonpath={range.items[?(@.sync=="OutOfSync")]}{.metadata.name}{end}`:      "web",
		"-o jsonpath-as-json={.items[0].suspended}":                                   "[\n    false\n]\n",
		"-o go-template={{range.items}}{{.health}},{{end}}":                           "Healthy,Degraded,",
		"--template {{len .items}}":                                                   "2",
		"-o custom-columns=NAME:.metadata.name,SYNC:{.sync},NOT:nowhere":              "NAME   SYNC        NOT\ncart   Synced      <none>\nweb    OutOfSync   <none>\n",
		"-o custom-columns=NAME:metadata.name --no-headers":                           "cart\nweb\n",
		"-o custom-columns-file=" + file:                                              "NAME   WHERE\ncart   flux-system\nweb    flux-system\n",
		"-o name --sort-by=.metadata.creationTimestamp":                               "kustomization/web\nkustomization/cart\n",
		"-o name --sort-by={.health}":                                                 "kustomization/web\nkustomization/cart\n",
		"-o name --field-selector=metadata.name=web":                                  "kustomization/web\n",
		"-o name --field-selector=metadata.name!=web,metadata.namespace==flux-system": "kustomization/cart\n",
		"-w -o jsonpath={.metadata.name}":                                             "cartweb",
		"-w -o custom-columns=N:.metadata.name":                                       "N\ncart\nweb\n",
	} {
		stdout, stderr, code := listed(t, parted(flags)...)
		if diff := cmp.Diff(want, stdout); diff != "" || code != 0 {
			t.Errorf("%s: exit %d, %s (-want +got):\n%s", flags, code, stderr, diff)
		}
	}
}

func TestWhatKubectlRefusesIsRefusedInItsWords(t *testing.T) {
	for flags, want := range map[string]string{
		"-o xml":                            `-o: unable to match a printer suitable for the output format "xml", allowed formats are: custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,template,templatefile,wide,yaml`,
		"-o jsonpath":                       "-o: template format specified but no template given",
		"-o jsonpath={.items[}":             "-o: error parsing jsonpath {.items[}, unterminated array",
		"-o custom-columns=":                "-o: custom-columns format specified but no custom columns given",
		"-o custom-columns=NAME":            "-o: unexpected custom-columns spec: NAME, expected <header>:<json-path-expr>",
		"-o custom-columns=NAME:{a}{b}":     "-o: unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
		"--field-selector=status.phase=x":   "--field-selector status.phase=x: field label not supported: status.phase",
		"--field-selector=x":                `--field-selector x: invalid selector: 'x'; can't understand 'x'`,
		"--sort-by=.nope":                   `--sort-by: couldn't find any field with path ".nope" in the list of objects`,
		"--request-timeout=soon":            `--request-timeout "soon": Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)`,
		"--as-group=x":                      "--as-uid, --as-group: requesting uid or groups without impersonating a user: name one with --as",
		"-o custom-columns-file=/not/there": "-o: read custom-columns-file /not/there: open /not/there: no such file or directory",
	} {
		stdout, stderr, code := listed(t, parted(flags)...)
		if diff := cmp.Diff("truce: "+want+"\n", stderr); diff != "" || code != int(exit.Usage) || stdout != "" {
			t.Errorf("%s: exit %d, printed %q (-want +got):\n%s", flags, code, stdout, diff)
		}
	}
}

func TestAnOrderCountsTheNumbersInTexts(t *testing.T) {
	var got []string
	items, err := sortByPath([]string{"web-10", "web-9", "web", "web-09b", "api-2"}, ".v", func(s string) any { return map[string]any{"v": s} })
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, items...)
	if diff := cmp.Diff([]string{"api-2", "web", "web-9", "web-09b", "web-10"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	values := map[string]any{"none": nil, "big": 1000000, "small": 9, "half": 9.5}
	items, err = sortByPath([]string{"big", "half", "small", "none"}, "v", func(s string) any { return map[string]any{"v": values[s]} })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"none", "small", "half", "big"}, items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFormsAndFieldsAreCompleted(t *testing.T) {
	for begun, want := range map[string]string{
		"-o custom":                        "custom-columns=\ncustom-columns-file=\n:6\n",
		"-o js":                            "json\njsonpath=\njsonpath-as-json=\njsonpath-file=\n:4\n",
		"--field-selector metadata.na":     "metadata.name=\nmetadata.namespace=\n:6\n",
		"--field-selector metadata.name=c": "metadata.name=cart\n:4\n",
		"--sort-by .metadata.n":            ".metadata.name\n.metadata.namespace\n:4\n",
	} {
		stdout := completed(t, strings.Fields(begun)...)
		if diff := cmp.Diff(want, stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", begun, diff)
		}
	}
}

// completed is what a shell gets for `truce app list -A` and flags of which the last is not finished.
func completed(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	b := Backend{Clusters: answers{Cluster{AppReader: someApps{keys: []app.Key{summaries()[0].Key, summaries()[1].Key}}}}}
	env := Environment{Out: &out, Err: &bytes.Buffer{}, Program: "truce", Getenv: func(string) string { return "" }}
	env.Args = append([]string{"__complete", "app", "list", "-A"}, args...)
	if code := Execute(t.Context(), env, b); code != 0 {
		t.Fatalf("complete %q: exit %d", args, code)
	}
	return out.String()
}

// parted parts a command line as a shell does, as far as the tests need it: not within braces.
func parted(line string) []string {
	depth := 0
	return strings.FieldsFunc(line, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ' ' && depth == 0
	})
}
