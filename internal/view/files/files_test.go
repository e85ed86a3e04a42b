package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestMain lets the test binary be the worker processes that it starts.
func TestMain(m *testing.M) {
	if code, ok := compose.RunHidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	kubetest.Main(m)
}

// ran is one invocation of the program in this process.
type ran struct {
	code     int
	out, err string
}

func run(t *testing.T, in string, args ...string) ran {
	t.Helper()
	var out, told bytes.Buffer
	env := cli.Environment{In: strings.NewReader(in), Out: &out, Err: &told, Program: "truce", Args: args, Getenv: func(string) string { return "" }}
	code := cli.Execute(t.Context(), env, cli.Backend{Repositories: repositories{}})
	return ran{code, out.String(), told.String()}
}

type repositories struct{}

func (repositories) Discover(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error {
	return lint.Discover(ctx, q, use)
}

// kubectl is the one beside the sandbox.
func kubectlBinary(t *testing.T) string {
	t.Helper()
	dir := "../../../bin"
	if named := os.Getenv("TRUCE_SANDBOX"); named != "" {
		dir = filepath.Dir(named)
	}
	found, err := filepath.Abs(filepath.Join(dir, "kubectl"))
	if err == nil {
		_, err = os.Stat(found)
	}
	if err != nil {
		t.Fatalf("no kubectl: run `make build` (%v)", err)
	}
	return found
}

// unpack writes the trees of a package's stories.
func unpack(t *testing.T, pattern string) (dirs []string) {
	t.Helper()
	stories, err := filepath.Glob(pattern)
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, story := range stories {
		a, err := txtar.ParseFile(story)
		if err != nil {
			t.Fatal(err)
		}
		top := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(story), ".txtar"))
		for _, f := range a.Files {
			name, input := strings.CutPrefix(f.Name, "in/")
			if !input || strings.HasSuffix(name, "(link)") {
				continue
			}
			name = filepath.Join(top, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			if base := filepath.Base(name); base == "kustomization.yaml" || base == "kustomization.yml" || base == "Kustomization" {
				dirs = append(dirs, filepath.Dir(name))
			}
		}
	}
	return dirs
}

// refused are stories of what kubectl builds and truce does not: bombs, files that say two things at once, numbers that no server takes.
var refused = map[string]bool{"alias-bomb-in-base": true, "duplicate-key": true, "large-number": true}

// TestRenderGivesWhatKubectlGives renders every kustomization of the examples and of the renderer's stories with both programs.
func TestRenderGivesWhatKubectlGives(t *testing.T) {
	kubectl := kubectlBinary(t)
	dirs := unpack(t, "../../render/kustomize/testdata/*.txtar")
	examples, err := filepath.Glob("../../../examples/demo/apps/*/*/kustomization.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, e := range examples {
		dirs = append(dirs, filepath.Dir(e))
	}
	built := 0
	for _, dir := range dirs {
		cmd := exec.CommandContext(t.Context(), kubectl, "kustomize", dir)
		cmd.Env = []string{"PATH=/nonexistent", "HOME=" + t.TempDir()} // without git nothing remote can be fetched
		want, err := cmd.Output()
		if err != nil {
			continue // what kubectl does not build is for the renderer's own stories
		}
		built++
		// The label of buildMetadata: [managedByLabel] names the version of the kustomize command, which truce has not.
		text := strings.ReplaceAll(string(want), "kustomize-v5.8.1", "kustomize-(devel)")
		for _, form := range []string{"yaml", "json"} {
			got := run(t, "", "render", dir, "--show-secrets", "-o", form)
			if refused[filepath.Base(dir)] && got.code == 4 {
				continue
			}
			if got.code != 0 {
				t.Errorf("%s: kubectl builds it, and truce exits with %d: %s", dir, got.code, got.err)
				continue
			}
			if diff := cmp.Diff(objects(t, text), objects(t, got.out)); diff != "" {
				t.Errorf("%s -o %s (-kubectl +truce):\n%s", dir, form, diff)
			}
		}
	}
	if built < 10 {
		t.Errorf("kubectl built %d of %d directories only", built, len(dirs))
	}
}

func objects(t *testing.T, text string) []object.Object {
	t.Helper()
	found, err := render.Manifests("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := []object.Object{}
	for _, o := range found {
		out = append(out, o.Data)
	}
	return out
}

func TestBasesMayBeAnywhereInTheRepositoryAndNothingOutside(t *testing.T) {
	const web = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
	dir := files(t, map[string]string{
		"repo/base/kustomization.yaml": "resources: [web.yaml]\n", "repo/base/web.yaml": web,
		"repo/apps/web/kustomization.yaml": "resources: [../../base]\n",
		"repo/out/kustomization.yaml":      "resources: [../../outside]\n", "outside/kustomization.yaml": "resources: [web.yaml]\n", "outside/web.yaml": web,
	})
	app, out := filepath.Join(dir, "repo/apps/web"), filepath.Join(dir, "repo/out")
	for _, d := range []string{app, out} { // no repository: as kubectl
		if got := run(t, "", "render", d, "-o", "name"); got.code != 0 || got.out != "configmap/web\n" {
			t.Errorf("%s: %+v", d, got)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "repo/.git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "render", app, "-o", "name"); got.code != 0 {
		t.Errorf("inside the repository: %+v", got)
	}
	if got := run(t, "", "render", out); got.code != 4 || !strings.Contains(got.err, "out/kustomization.yaml:1: ../../outside: path leads out of the source") {
		t.Errorf("outside of it: %+v", got)
	}
	if err := os.Remove(filepath.Join(dir, "repo/.git")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "repo/out/kustomization.yaml"), []byte("configMapGenerator: [{name: a, files: [../../outside/web.yaml]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "render", out); got.code != 4 {
		t.Errorf("a file outside, without a base there: %+v", got)
	}
}

func TestFormsAreKubectls(t *testing.T) {
	file := filepath.Join(files(t, map[string]string{"a.yaml": configMap}), "a.yaml")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"a", []string{"render", "-f", file, "-o", "jsonpath={.items[0].metadata.name}"}},
		{"Synced", []string{"diff", "-f", file, "--live", file, "-o", "jsonpath={.sync}"}},
		{"Healthy", []string{"health", "-f", file, "-o", "jsonpath={.items[*].status}"}},
	} {
		if got := run(t, "", c.args...); strings.TrimSpace(got.out) != c.want || got.code != 0 {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestJSONIsOneValue(t *testing.T) {
	dir := files(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	file := filepath.Join(dir, "a.yaml")
	for _, args := range [][]string{{"render", dir}, {"diff", dir, "--live", file}, {"diff", "-f", file, "--live", file}, {"health", "-f", file}} {
		got := run(t, "", append(args, "-o", "json")...)
		var v struct{ APIVersion, Kind string }
		if err := json.Unmarshal([]byte(got.out), &v); err != nil || v.Kind == "" || v.APIVersion == "" || got.code != 0 {
			t.Errorf("%v: %d %v: %s", args, got.code, err, got.out)
		}
	}
}
