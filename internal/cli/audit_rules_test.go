package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
)

// auditRules runs `truce audit` with nothing to survey.
func auditRules(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Execute(t.Context(), Environment{Out: &o, Err: &e, Program: "truce", Args: append([]string{"audit"}, args...), Getenv: func(string) string { return "" }}, Backend{})
	return o.String(), e.String(), code
}

// TestFlagsThatMeanNothingTogetherAreRefused: what a command would ignore is a fault of the command line.
func TestFlagsThatMeanNothingTogetherAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--cluster --base main":                    "--base is about a repository",
		"--cluster --skipped":                      "--skipped is about a repository",
		"--cluster --form":                         "--form is about a repository",
		"--cluster --no-private-sources":           "--no-private-sources is about a repository",
		"--cluster --allow-source-hosts localhost": "--allow-source-hosts is about a repository",
		"--claims-file claims.yaml":                "--claims-file is about a cluster",
	} {
		if out, errs, code := auditRules(t, strings.Fields(line)...); code != int(exit.Usage) || out != "" || !strings.Contains(errs, want) {
			t.Errorf("audit %s: exit code %d: %s%s", line, code, out, errs)
		}
	}
}

const rulesDir = "../../docs/rules"

func TestThePagesOfRulesAreInStep(t *testing.T) {
	want := map[string]string{}
	page := func(name string, args ...string) {
		out, errs, code := auditRules(t, append(args, "-o", "markdown")...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		want[name] = out
	}
	page("README.md", "--explain")
	for _, r := range rules.AllRules() {
		page(r.ID+".md", "--explain", r.ID)
	}
	if flag.Lookup("update").Value.String() == "true" {
		writePages(t, want)
	}
	got := map[string]string{}
	files, err := filepath.Glob(rulesDir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(name)] = string(text)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/rules is not what the rules say; run go generate ./internal/cli\n%s", d)
	}
}

// writePages writes the directory.
func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	if err := os.RemoveAll(rulesDir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(rulesDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(rulesDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAuditExplainsARuleWithWhatItFinds(t *testing.T) {
	out, errs, code := auditRules(t, "--explain", "secret-string-data")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"warning secret-string-data: a Secret in Git has plain values in stringData", "remedy: Encrypt", "known from: measured", "    stringData:", "    secret.yaml:5:1 warning"} {
		if !strings.Contains(out, want) {
			t.Errorf("not in it: %s\n%s", want, out)
		}
	}
	if same, _, _ := auditRules(t, "--explain=secret-string-data"); same != out {
		t.Error("--explain=RULE says something else")
	}
	list, _, code := auditRules(t, "--explain")
	for _, r := range rules.AllRules() {
		if !strings.Contains(list, r.ID+" ") || code != 0 {
			t.Errorf("--explain leaves out %s", r.ID)
		}
	}
	if _, errs, code := auditRules(t, "--explain", "nothing"); code != int(exit.Usage) || !strings.Contains(errs, `--explain "nothing": no such rule`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if out, _, code := auditRules(t, "--explain", "-o", "json"); code != 0 || !strings.Contains(out, `"id": "unknown-field"`) {
		t.Errorf("exit code %d: %.300s", code, out)
	}
}
