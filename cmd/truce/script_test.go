package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestTheProgramTellsEachStory runs the scripts of testdata/script with the real program against a real API server, on which
// one controller, another process of the program, is at work. Beside testscript's own commands they have
//
//	repository DIR      makes a git repository of a directory, with one commit on main
//	serve DIR           serves a git repository over HTTP, at $UPSTREAM, which repository fills in
//	commit DIR MESSAGE  makes a commit of all that has changed in it
//	apply FILE          applies manifests, with $NS and $WORK filled in
//	documents FILE      prints the names of the objects that a stream of YAML or JSON has
//	exits CODE TRUCE…   runs the program, which must end with that code
func TestTheProgramTellsEachStory(t *testing.T) {
	files, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	c := kubetest.Start(t)
	bin := program(t)
	cache := t.TempDir()
	runController(t, c, bin, "--cache-dir", cache)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			script{cluster: c, bin: bin, cache: cache, namespace: c.Namespace(t), kubeconfig: c.Kubeconfig}.run(t, file)
		})
	}
}

// TestTheProgramTellsEachStoryWithoutACluster runs the scripts of testdata/script/offline, with the same commands but apply.
func TestTheProgramTellsEachStoryWithoutACluster(t *testing.T) {
	files, err := filepath.Glob("../../testdata/script/offline/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	bin := program(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			script{bin: bin, kubeconfig: "/nonexistent"}.run(t, file)
		})
	}
}

// TestTheProgramTellsEachStoryAlone runs the scripts of testdata/script/alone, which start and end a controller themselves.
func TestTheProgramTellsEachStoryAlone(t *testing.T) {
	files, err := filepath.Glob("../../testdata/script/alone/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	bin := program(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			c := kubetest.Start(t)
			installCRDs(t, c)
			script{cluster: c, bin: bin, namespace: c.Namespace(t), kubeconfig: c.Kubeconfig}.run(t, file)
		})
	}
}

func (s script) run(t *testing.T, file string) {
	t.Helper()
	seen := &transcript{}
	testscript.Run(t, testscript.Params{
		Files: []string{file}, Setup: s.setup, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"repository": repository, "commit": commit, "apply": s.apply, "exits": exits, "serve": server(t), "charts": charts(t), "shown": seen.shown, "page": seen.page, "documents": documents,
		},
	})
}

type script struct {
	kubeconfig            string
	cluster               *kubetest.Cluster
	bin, cache, namespace string // cache is the controller's directory, with its journal
}

func (s script) setup(e *testscript.Env) error {
	e.Setenv("PATH", strings.Join([]string{s.bin, kubectlDir(), e.Getenv("PATH")}, string(os.PathListSeparator)))
	e.Setenv("KUBECONFIG", s.kubeconfig)
	e.Setenv("NS", s.namespace)
	e.Setenv("CACHE", s.cache)
	e.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		e.Setenv("GIT_"+who+"_NAME", "story")
		e.Setenv("GIT_"+who+"_EMAIL", "story@example.com")
	}
	e.Setenv("TMPDIR", e.WorkDir)
	e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
	return nil
}

func kubectlDir() string {
	if named := os.Getenv("TRUCE_SANDBOX"); named != "" {
		return filepath.Dir(named)
	}
	dir, err := filepath.Abs("../../bin")
	if err != nil {
		return ""
	}
	return dir
}

// apply fills in the variables and applies.
func (s script) apply(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: apply FILE")
	}
	text := os.Expand(ts.ReadFile(args[0]), func(name string) string {
		if name == "NS" || name == "WORK" {
			return ts.Getenv(name)
		}
		return "$" + name
	})
	filled := ts.MkAbs(args[0] + ".filled")
	ts.Check(os.WriteFile(filled, []byte(text), 0o600))
	ts.Check(ts.Exec("kubectl", "-n", s.namespace, "apply", "--server-side", "-f", filled))
}

// documents reads a stream as a program does that knows its form.
func documents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: documents FILE")
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(ts.ReadFile(args[0])), 4096)
	for {
		var o metav1.PartialObjectMetadata
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		if o.Name == "" {
			ts.Fatalf("%s has a document without a name", args[0])
		}
		fmt.Fprint(ts.Stdout(), o.Name, " ")
	}
}

func repository(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repository DIR")
	}
	dir := ts.MkAbs(args[0])
	filled := dir + ".filled"
	ts.Check(os.CopyFS(filled, os.DirFS(dir)))
	for _, name := range []string{"NS", "WORK", "UPSTREAM", "CHARTS"} {
		ts.Check(fillAll(filled, "$"+name, ts.Getenv(name)))
	}
	ts.Check(os.RemoveAll(dir))
	ts.Check(git.SeedRepository(context.Background(), dir, os.DirFS(filled)))
}

// server is the command serve. What it serves ends with the test.
func server(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: serve DIR")
		}
		ts.Setenv("UPSTREAM", gittest.ServeHTTP(t, &gittest.Repo{Dir: ts.MkAbs(args[0])}, gittest.HTTPOptions{}).URL)
	}
}

// charts is the command that serves the directories of one as charts, at version 1.0.0, from a repository of charts that ends with the test.
func charts(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: charts DIR")
		}
		served, dir := charttest.New(t), ts.MkAbs(args[0])
		entries, err := os.ReadDir(dir)
		ts.Check(err)
		for _, e := range entries {
			files := map[string]string{}
			in := os.DirFS(filepath.Join(dir, e.Name()))
			ts.Check(fs.WalkDir(in, ".", func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					var text []byte
					text, err = fs.ReadFile(in, path)
					files[path] = string(text)
				}
				return err
			}))
			served.Push(e.Name(), "1.0.0", files)
		}
		ts.Setenv("CHARTS", served.URL())
	}
}

// commit fills in $NS where a file was changed, too.
func commit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: commit DIR MESSAGE")
	}
	dir := ts.MkAbs(args[0])
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" {
			for _, name := range []string{"NS", "WORK"} {
				ts.Check(fillAll(filepath.Join(dir, e.Name()), "$"+name, ts.Getenv(name)))
			}
		}
	}
	ts.Check(ts.Exec("git", "-C", dir, "add", "--all"))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "--quiet", "--message", args[1]))
}

func fillAll(dir, variable, value string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), variable, value)), 0o600)
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE truce ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runController installs the CRDs and runs `truce controller` until the test ends; then it must end by itself.
func runController(t *testing.T, c *kubetest.Cluster, bin string, flags ...string) {
	t.Helper()
	installCRDs(t, c)
	t.Cleanup(startController(t, c, bin, flags...))
}

func installCRDs(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	err := fs.WalkDir(deploy.CRDs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(deploy.CRDs, path)
		if err == nil {
			c.Apply(t, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Established(t, "kustomizations.kustomize.toolkit.fluxcd.io", "gitrepositories.source.toolkit.fluxcd.io", "applications.argoproj.io")
}

// startController returns what ends it.
func startController(t *testing.T, c *kubetest.Cluster, bin string, flags ...string) (end func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "truce"), append([]string{"controller", "--local-sources", "--allow-source-hosts=127.0.0.0/8", "--listen=127.0.0.1:0", "--cache-dir", t.TempDir()}, flags...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := interrupt(cmd); err != nil {
			t.Errorf("controller: %v", err)
		}
	}
}

// interrupt ends a process as Ctrl-C does, and expects it to end in time and in order.
func interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(3 * time.Minute): // it hangs
		return errors.Join(errors.New("still there after three minutes"), cmd.Process.Kill(), <-ended)
	}
}
