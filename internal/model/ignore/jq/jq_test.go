package jq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/ignore/jq"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/worker"
)

// The test binary is also the worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "jq-worker" {
		os.Exit(worker.ServeAnswers(jq.AnswerRequest, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func newEvaluator(t testing.TB) *jq.Evaluator {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pool := worker.NewPool(worker.Options{Executable: exe, Args: []string{"jq-worker"}, Size: 1})
	t.Cleanup(pool.Close)
	return &jq.Evaluator{
		Worker: func(ctx context.Context, input []byte, l jq.Limits) ([]byte, error) {
			out, err := pool.Call(ctx, input, render.Limits{Time: l.Time, Memory: l.Memory})
			if errors.Is(err, render.ErrLimit) {
				err = fmt.Errorf("%w: %w", jq.ErrLimit, err)
			}
			return out, err
		},
	}
}

func load(t testing.TB, text string) object.Object {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {a.b/c: x}}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, image: nginx, env: [{name: A, value: "1"}, {name: B, value: "2"}]}
      - {name: log, image: fluent}
`

func ask(t *testing.T, e *jq.Evaluator, query string, git, live object.Object) ignore.Answer {
	t.Helper()
	answers, err := e.Select(t.Context(), []string{query}, git, live)
	if err != nil {
		t.Fatal(err)
	}
	return answers[query]
}

func printAnswer(a ignore.Answer) string {
	if a.Err != nil {
		return "fails: " + a.Err.Error()
	}
	var words []string
	if a.Positional {
		words = append(words, "counts")
	}
	for _, p := range a.Git {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}

func TestAnExpressionSelectsWhatDelWouldDelete(t *testing.T) {
	e := newEvaluator(t)
	const c = "/spec/template/spec/containers"
	for query, want := range map[string]string{
		".spec.replicas":                         "/spec/replicas",
		".spec.replicas, .metadata.annotations":  "/metadata/annotations /spec/replicas",
		`.metadata.annotations["a.b/c"]`:         "/metadata/annotations/a.b~1c",
		`.metadata.annotations."a.b/c"`:          "/metadata/annotations/a.b~1c",
		".spec.paused":                           "/spec/paused",
		".spec.template.spec.containers[].image": c + "/0/image " + c + "/1/image",
		`.spec.template.spec.containers[] | select(.name == "log") | .image`:               c + "/1/image",
		`.spec.template.spec.containers[] | select(.name == "web") | .env[] | .value`:      c + "/0/env/0/value " + c + "/0/env/1/value",
		".spec.template.spec.containers[0].image":                                          "counts " + c + "/0/image",
		".spec.template.spec.containers[-1].image":                                         "counts " + c + "/1/image",
		".spec.template.spec.containers[1:]":                                               "counts " + c + "/1",
		".spec.template.spec.containers[7].image":                                          "counts",
		"first(.spec.template.spec.containers[]).image":                                    "counts " + c + "/0/image",
		".spec.template.spec | (.containers, .containers[].image)":                         c,
		".spec.template.spec.initContainers[].image":                                       "",
		".spec.template.spec.initContainers[] | select(.name | startswith(\"x\"))":         "",
		".spec.template.spec.containers[] | select(.image | test(\"^fl\")) | .image":       c + "/1/image",
		".spec.template.spec.containers[] | select(.command[0] | startswith(\"x\")).image": "counts",
		".spec | to_entries":                `fails: invalid path against: array ([{"key":"replicas","value ...])`,
		".metadata.name[]":                  `fails: cannot iterate over: string ("web")`,
		".":                                 "fails: it selects the whole object",
		".spec.template.spec.containers[":   "fails: unexpected EOF",
		"nosuch(.spec)":                     "fails: function not defined: nosuch/1",
		"":                                  "fails: missing query (try \".\")",
		`import "x" as x; .spec`:            `fails: cannot load module: "x"`,
		"input":                             "fails: input(s)/0 is not allowed",
		"$ENV.PATH":                         "fails: invalid path against: object ({})",
		`.spec | .[env.HOME // "replicas"]`: "counts /spec/replicas",
		`.spec.replicas | error("no")`:      "fails: error: no",
		strings.Repeat("(", 2100) + "." + strings.Repeat(")", 2100): "fails: it has 4201 bytes; 4096 are allowed",
	} {
		git := load(t, deployment)
		if got := printAnswer(ask(t, e, query, git, nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
		if diff := cmp.Diff(load(t, deployment), git); diff != "" {
			t.Errorf("%s changes the object: %s", query, diff)
		}
	}
}

func TestAnExpressionLooksAtLiveTooAndNotAtItsManagers(t *testing.T) {
	e := newEvaluator(t)
	live := load(t, deployment)
	live.Metadata()["managedFields"] = []any{map[string]any{"manager": "x"}}
	a := ask(t, e, ".spec.replicas, .metadata.managedFields[]", nil, live)
	if got := cmp.Diff([]string{"/spec/replicas"}, []string{a.Live[0].String()}); got != "" || len(a.Live) != 1 || len(a.Git) != 0 {
		t.Errorf("%v %v", a, got)
	}
	if live.At("metadata", "managedFields") == nil {
		t.Error("live was changed")
	}
}

func TestAnExpressionIsCheckedWithoutAnObject(t *testing.T) {
	e := newEvaluator(t)
	for query, want := range map[string]string{
		".spec.x[]": "",
		`if .kind == "A" then .a else error("b") end`: "",
		".spec[": "fails: unexpected EOF",
		".":      "fails: it selects the whole object",
		"nosuch": "fails: function not defined: nosuch/0",
	} {
		if got := printAnswer(ask(t, e, query, nil, nil)); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestAHostileExpressionHurtsNobodyElse(t *testing.T) {
	e := newEvaluator(t)
	git := load(t, deployment)
	for _, query := range []string{
		"[range(1e9)]", "repeat(.)", "repeat(.spec)", "def f: [f]; f", "last(range(1e12))",
		`"x" * 2e9 | .spec`, `[range(100)] | map("x" * 1e8) | .spec`,
		"[range(30)] | combinations(30)", `[range(1e5)] | [., .] | combinations`,
		"[.. | .. | .. | .. | .. | .. | ..]", `("x" * 1e6) as $s | [range(1e6) | $s + "y"]`, "1e1000000 | tostring", "pow(10; 1e9)",
		`("a" * 1e7) | gsub("a"; "bb" * 100)`, "halt", "halt_error", "[limit(1e8; 1 | recurse)]",
		strings.Repeat("(", 2000) + ".spec" + strings.Repeat(")", 2000), strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		strings.Repeat(".a|", 1300) + ".a", strings.Repeat("..|", 1000) + "..",
	} {
		began := time.Now()
		limit, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // one that hangs is named
		a, err := e.Select(limit, []string{".spec.replicas", query}, git, git)
		cancel()
		if err != nil {
			t.Fatalf("%.60s: %v", query, err)
		}
		if got := printAnswer(a[".spec.replicas"]); got != "/spec/replicas" {
			t.Errorf("beside %.60s .spec.replicas gives %s", query, got)
		}
		t.Logf("%6s %.50s: %.100s", time.Since(began).Round(time.Millisecond), query, printAnswer(a[query]))
	}
}

func TestAnExpressionThatRanIntoALimitRestsForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		e := &jq.Evaluator{Worker: func(context.Context, []byte, jq.Limits) ([]byte, error) {
			runs++
			return nil, slowError{}
		}}
		const query = "last(range(1e12))"
		const want = "fails: it ran for longer than 1s"
		for range 3 {
			if got := printAnswer(ask(t, e, query, load(t, deployment), nil)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := printAnswer(ask(t, e, query, load(t, deployment), nil)); got != want || runs != 2 {
			t.Errorf("got %q after %d runs", got, runs)
		}
	})
}

// TestAnEndlessExpressionCostsTheOthersNothing: it is ended in the process, which then answers the rest.
func TestAnEndlessExpressionCostsTheOthersNothing(t *testing.T) {
	e := newEvaluator(t)
	calls := 0
	through := e.Worker
	e.Worker = func(ctx context.Context, input []byte, l jq.Limits) ([]byte, error) {
		calls++
		return through(ctx, input, l)
	}
	queries := []string{"last(range(1e12))"}
	for i := range 20 {
		queries = append(queries, fmt.Sprintf(".spec.replicas, .a%d", i))
	}
	git := load(t, deployment)
	answers, err := e.Select(t.Context(), queries, git, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		if got := printAnswer(answers[q]); i == 0 && got != "fails: it ran for longer than 1s" || i > 0 && !strings.Contains(got, "/spec/replicas") {
			t.Errorf("%s: %s", q, got)
		}
	}
	if calls != 1 {
		t.Errorf("the process was asked %d times", calls)
	}
}

type slowError struct{}

func (slowError) Error() string { return "took longer" }
func (slowError) Timeout() bool { return true }
func (slowError) Unwrap() error { return jq.ErrLimit }

func TestAnErrorQuotesNothingOfASecret(t *testing.T) {
	e := newEvaluator(t)
	secret := load(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: aHVudGVyMg==}}")
	for _, query := range []string{".data.password[]", "error(.data.password)", ".data.password | tonumber"} {
		for _, a := range []ignore.Answer{ask(t, e, query, secret, nil), ask(t, e, query, nil, secret)} {
			if got := printAnswer(a); strings.Contains(got, "aHVu") || strings.Contains(got, "hunter") {
				t.Errorf("%s tells %q", query, got)
			}
		}
	}
}

func TestAWorkerThatCannotStartIsNotTheExpressionsFault(t *testing.T) {
	pool := worker.NewPool(worker.Options{Executable: "/nonexistent/truce", Size: 1})
	t.Cleanup(pool.Close)
	e := &jq.Evaluator{
		Worker: func(ctx context.Context, in []byte, l jq.Limits) ([]byte, error) {
			return pool.Call(ctx, in, render.Limits{})
		},
	}
	for range 2 {
		if got := printAnswer(ask(t, e, ".spec", load(t, deployment), nil)); !strings.Contains(got, "start worker") {
			t.Errorf("got %q", got)
		}
	}
}

// FuzzAnswer runs expressions in this very process: they may take their second, and must not bring it down.
func FuzzAnswer(f *testing.F) {
	for _, q := range []string{".spec.replicas", ".a[0:2]", `.["x"]?`, "..", "path(..)", "del(.a)", "first(.b[])", ".a as [$x] | .b[$x]", "try error(1)", "limit(3; .a[])"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if len(q) > 60 || strings.Contains(q, "range") || strings.Contains(q, "repeat") || strings.Contains(q, "*") {
			return // what the worker's limits are for
		}
		in := []byte(`{"Queries":[` + quoted(q) + `],"Git":{"a":[1,{"b":null}],"b":["x","y"]},"Live":{"a":{"c":1.5}}}`)
		out, err := jq.AnswerRequest(t.Context(), in)
		if err == nil && len(out) == 0 {
			t.Error("nothing is said")
		}
	})
}
