package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const fought = `-- web/kustomization.yaml --
resources: [web.yaml]
-- web/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1", resources: {requests: {cpu: 1}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
-- README.md --
shop
-- live.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:9", resources: {requests: {cpu: 1}}}]}
`

// action is what is read of action.yml.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     *string
	}
	Runs struct {
		Using string
		Steps []struct {
			Shell, Run string
			Env        map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{ (inputs|github)\.([a-z_.-]+) \}\}`)

// truceProgram builds the program.
func truceProgram(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "truce")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", bin, "../cmd/truce").CombinedOutput(); err != nil {
		t.Fatalf("build truce: %v\n%s", err, out)
	}
	return bin
}

// checkout is a clone of a new repository.
func checkout(t *testing.T) string {
	t.Helper()
	repo, dir := gittest.NewTxtar(t, fought), filepath.Join(t.TempDir(), "shop")
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", repo.Dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("clone: %v\n%s", err, out)
	}
	return dir
}

// TestTheScriptsForPullRequestsAndCommits runs what users put into their CI and their hooks.
func TestTheScriptsForPullRequestsAndCommits(t *testing.T) {
	bin := truceProgram(t)
	for name, test := range map[string]func(t *testing.T, dir, bin string){
		"the action tells the pull request": tellsThePullRequest, "without a token nothing goes abroad": nothingAbroad, "the hook stops a commit": stopsACommit,
	} {
		t.Run(name, func(t *testing.T) { test(t, checkout(t), bin) })
	}
}

// run runs a script in a repository, and returns its exit code and what it has written.
func run(t *testing.T, dir, script string, env ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// act runs the action's step, as GitHub does, with inputs.
func act(t *testing.T, dir string, inputs map[string]string, env ...string) (int, string) {
	t.Helper()
	text, err := os.ReadFile("ci/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("ci")
	if err != nil {
		t.Fatal(err)
	}
	step := a.Runs.Steps[0]
	for key, value := range step.Env {
		env = append(env, key+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
			m := expression.FindStringSubmatch(e)
			given, ok := inputs[m[2]]
			if in, known := a.Inputs[m[2]]; m[1] == "inputs" && !ok {
				if !known || in.Default == nil {
					t.Fatalf("the action reads the input %q, which it does not have, or which has no default", m[2])
				}
				return *in.Default
			}
			return given
		}))
	}
	return run(t, dir, step.Run, append(env, "GITHUB_ACTION_PATH="+here)...)
}

// issue is the API of one pull request's comments.
type issue struct {
	sync.Mutex
	comments []string
	asked    []string
}

func (i *issue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.Lock()
	defer i.Unlock()
	i.asked = append(i.asked, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer s3cret" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in struct{ Body string }
	if r.Method != http.MethodGet {
		if err := json.Unmarshal(text, &in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/repos/shop/web/issues/7/comments":
		list := []map[string]any{{"id": 1, "body": "looks good to me"}}
		for n, body := range i.comments {
			list = append(list, map[string]any{"id": 100 + n, "body": body})
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	case r.Method == http.MethodPost && r.URL.Path == "/repos/shop/web/issues/7/comments":
		i.comments = append(i.comments, in.Body)
		w.WriteHeader(http.StatusCreated)
	default:
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/repos/shop/web/issues/comments/%d", &n); err != nil || r.Method != http.MethodPatch || n-100 >= len(i.comments) {
			http.NotFound(w, r)
			return
		}
		i.comments[n-100] = in.Body
	}
}

func tellsThePullRequest(t *testing.T, repo, bin string) {
	api := &issue{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	summary, sarif := filepath.Join(dir, "summary.md"), filepath.Join(dir, "truce.sarif")
	env := []string{"GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=shop/web", "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_ACTIONS=true"}
	inputs := map[string]string{
		"truce": bin, "token": "s3cret", "event.pull_request.number": "7", "sarif": sarif, "diff": "web", "live": "live.yaml",
	}
	for range 2 { // the second run writes over the comments of the first
		code, out := act(t, repo, inputs, env...)
		if code != 1 || !strings.Contains(out, "::error file=web/web.yaml,line=5,") || strings.Contains(out, "s3cret") {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	if len(api.comments) != 2 {
		t.Fatalf("%d comments, want one of the audit and one of the diff: %q", len(api.comments), api.asked)
	}
	for i, want := range []string{
		"<!-- truce audit -->\n### truce audit\n\n1 error",
		"<!-- truce diff -->\n### truce diff\n\n",
	} {
		if !strings.HasPrefix(api.comments[i], want) {
			t.Errorf("comment %d does not begin with %q:\n%s", i, want, api.comments[i])
		}
	}
	if want := "registry.example/web:9"; !strings.Contains(api.comments[1], want) || !strings.Contains(api.comments[1], "would be corrected") {
		t.Errorf("the diff does not tell of %s:\n%s", want, api.comments[1])
	}
	for file, want := range map[string]string{summary: api.comments[1], sarif: `"primaryLocationLineHash"`} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
}

func nothingAbroad(t *testing.T, repo, bin string) {
	api := &issue{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	env := []string{"GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=shop/web", "GITHUB_STEP_SUMMARY=", "GITHUB_ACTIONS="}
	inputs := map[string]string{"truce": bin, "event.pull_request.number": "7"}
	if code, out := act(t, repo, inputs, env...); code != 1 || len(api.asked) > 0 || !strings.HasPrefix(out, "<!-- truce audit -->") {
		t.Errorf("without a token: exit code %d, asked %q:\n%s", code, api.asked, out)
	}
	inputs["fail-on"] = "never"
	if code, out := act(t, repo, inputs, env...); code != 0 {
		t.Errorf("fail-on never: exit code %d:\n%s", code, out)
	}
	inputs["token"] = "wrong"
	code, out := act(t, repo, inputs, env...)
	if code != 0 || !strings.Contains(out, "the comment could not be written") {
		t.Errorf("a token that is refused: exit code %d:\n%s", code, out)
	}
	inputs["baseline"] = "none.yaml"
	if code, out := act(t, repo, inputs, env...); code != 2 || !strings.Contains(out, "none.yaml") {
		t.Errorf("no such baseline: exit code %d:\n%s", code, out)
	}
}

func stopsACommit(t *testing.T, repo, bin string) {
	text, err := os.ReadFile("../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Entry, Language string }
	if err := yaml.Unmarshal(text, &hooks); err != nil || len(hooks) != 1 {
		t.Fatalf("%v, %v", hooks, err)
	}
	hook, err := filepath.Abs(filepath.Join("..", hooks[0].Entry))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(hook, filepath.Join(repo, ".git/hooks/pre-commit")); err != nil {
		t.Fatal(err)
	}
	commits := func(want bool, what string, env ...string) {
		t.Helper()
		script := what + " && git add -A && git -c user.name=a -c user.email=a@example.org commit -q -m change"
		code, out := run(t, repo, script, append(slices.Clone(env), "TRUCE="+bin)...)
		if (code == 0) != want || !want && !strings.Contains(out, "web/web.yaml:5") {
			t.Errorf("%s: exit code %d:\n%s", what, code, out)
		}
	}
	commits(true, "echo more >>README.md") // nothing that truce reads
	commits(false, "sed -i s/web:1/web:2/ web/web.yaml")
	commits(true, `"$TRUCE" audit --write-baseline .truce-baseline.yaml`)
	commits(true, "sed -i 1i#moved web/web.yaml")
	commits(true, "rm .truce-baseline.yaml && sed -i /replicas:/d web/web.yaml")
}
