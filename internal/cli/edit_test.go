package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/view"
)

var grokdevops = app.Key{Kind: "Application", Namespace: "argocd", Name: "grokdevops"}

// typed runs a command line against a cluster that holds the apps and takes every change. It returns what was asked for.
func typed(t *testing.T, program string, known []app.Key, args ...string) (asked []view.Edit, out string, code int) {
	t.Helper()
	var b bytes.Buffer
	env := Environment{In: strings.NewReader(""), Out: &b, Err: &b, Program: program, Args: args, Getenv: func(string) string { return "" }}
	edits := &recordedEdits{}
	code = Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: someApps{keys: known}, AppEditor: edits}}})
	return edits.asked, b.String(), code
}

// recordedEdits takes every change.
type recordedEdits struct {
	AppEditor
	asked []view.Edit
}

func (r *recordedEdits) Edit(_ context.Context, e view.Edit) (view.EditResult, error) {
	r.asked = append(r.asked, e)
	return view.EditResult{Before: dialect.Resources{App: object.Object{"kind": e.App.Kind}}, After: dialect.Resources{App: object.Object{"kind": e.App.Kind, "spec": 1}}}, nil
}

// TestTheRunbookIsTakenWordForWord types what document 2 says.
func TestTheRunbookIsTakenWordForWord(t *testing.T) {
	asked, out, code := typed(t, "argocd", []app.Key{grokdevops},
		"app", "set", "grokdevops", "--ignore-difference", `{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}`)
	want := []view.Edit{{App: grokdevops, How: view.Alter, Change: dialect.Change{Ignore: []dialect.Difference{
		{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}},
	}}}}
	if diff := cmp.Diff(want, asked); diff != "" || code != 0 {
		t.Errorf("code %d (-want +got):\n%s", code, diff)
	}
	if diff := cmp.Diff("application/grokdevops set\n", out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSeveralChangedAppsAreSeveralDocuments of one stream of YAML.
func TestSeveralChangedAppsAreSeveralDocuments(t *testing.T) {
	known := []app.Key{{Kind: "Application", Namespace: "argocd", Name: "a"}, {Kind: "Application", Namespace: "argocd", Name: "b"}}
	_, out, code := typed(t, "argocd", known, "app", "set", "a", "b", "--revision", "main", "-o", "yaml")
	const one = "kind: Application\nmetadata: {}\nspec: 1\n"
	if diff := cmp.Diff(one+"---\n"+one, out); diff != "" || code != 0 {
		t.Errorf("code %d (-want +got):\n%s", code, diff)
	}
}

func TestAnAppOfArgocdIsFoundWhereverItIs(t *testing.T) {
	other := app.Key{Kind: "Application", Namespace: "team-a", Name: "grokdevops"}
	lone := app.Key{Kind: "Application", Namespace: "team-b", Name: "lone"}
	known := []app.Key{other, lone, grokdevops}
	for args, want := range map[string]app.Key{
		"grokdevops": grokdevops, "lone": lone, "team-a/grokdevops": other, "grokdevops -N team-a": other, "lone --app-namespace team-b": lone,
		"application/lone": lone,
	} {
		asked, out, code := typed(t, "argocd", known, append([]string{"app", "suspend"}, strings.Fields(args)...)...)
		if code != 0 || len(asked) != 1 || asked[0].App != want {
			t.Errorf("%s: code %d, %v\n%s", args, code, asked, out)
		}
	}
	if _, out, code := typed(t, "argocd", known, "app", "suspend", "nobody"); code != argocdGenericError || !strings.Contains(out, "no such app") {
		t.Errorf("an app that is not there: code %d\n%s", code, out)
	}
}

func TestFlagsOfArgocdThatMeanNothingHereAreTakenAndTold(t *testing.T) {
	_, out, code := typed(t, "argocd", []app.Key{grokdevops},
		"app", "suspend", "grokdevops", "--server", "argocd.example:443", "--auth-token=hunter2", "--grpc-web", "--core", "-H", "a: b")
	want := "note: --auth-token, --core, --grpc-web, --header, --server without effect: truce speaks to Kubernetes, with your kubeconfig\napplication/grokdevops suspended\n"
	if diff := cmp.Diff(want, out); diff != "" || code != 0 {
		t.Errorf("code %d (-want +got):\n%s", code, diff)
	}
	if _, out, code := typed(t, "truce", nil, "app", "suspend", "x", "--core"); code != int(exit.Usage) {
		t.Errorf("truce took --core: %d\n%s", code, out)
	}
	if _, out, code := typed(t, "argocd", nil, "login", "argocd.example", "--username", "admin", "--password", "hunter2"); code != 0 || strings.Contains(out, "hunter2") {
		t.Errorf("login: %d\n%s", code, out)
	}
}

func TestExitCodesAreThoseOfTheNameThatTruceWasCalledBy(t *testing.T) {
	for _, c := range []struct {
		program string
		args    string
		code    int
	}{
		{"truce", "app set web", 2}, {"argocd", "app set web", 1}, {"truce", "app unset web", 2}, {"argocd", "app unset web", 1},
		{"truce", "app nope", 2}, {"argocd", "app nope", 20}, {"truce", "app suspend nobody", 3}, {"argocd", "app suspend nobody", 20},
		{"truce", "app delete web -n argocd", 2}, {"argocd", "app delete web", 0}, {"truce", "app delete web -n argocd -y", 0},
		{"argocd", "app diff web", 1}, {"argocd", "app diff web --exit-code=false", 0},
		// The user's own code is the user's, also where truce has another meaning for it.
		{"argocd", "app diff web --diff-exit-code 2", 2}, {"argocd", "app diff web --diff-exit-code 3", 3}, {"argocd", "app diff web --diff-exit-code 4", 4},
		{"argocd", "app diff web --diff-exit-code 7", 7}, {"truce", "app diff web -n argocd --diff-exit-code 2", 2},
	} {
		known := []app.Key{{Kind: "Application", Namespace: "argocd", Name: "web"}}
		if _, out, code := typed(t, c.program, known, strings.Fields(c.args)...); code != c.code {
			t.Errorf("%s %s: code %d, want %d\n%s", c.program, c.args, code, c.code, out)
		}
	}
}

func TestARuleThatIsNoneIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                       "unexpected end of JSON input",
		`nonsense`:                "want JSON such as",
		`{"kind":"Deployment"}`:   "it names no field",
		`{"jsonPointers":["/x"]}`: "kind is required",
		`{"kind":"Deployment","jsonPointer":["/spec/replicas"]}`:                                          `unknown field "jsonPointer"; the keys are group, kind`,
		`{"kind":"Deployment","jsonPointers":["spec.replicas"]}`:                                          "jsonPointers[0]",
		`{"kind":"Deployment","jsonPointers":"/spec/replicas"}`:                                           "cannot unmarshal string",
		`{"kind":"A","kind":"B","jsonPointers":["/x"]}`:                                                   "duplicate field",
		`{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]} {"group":"x","kind":"y"}`: "after top-level value",
	} {
		asked, out, code := typed(t, "truce", []app.Key{grokdevops}, "app", "set", "grokdevops", "-n", "argocd", "--ignore-difference", text)
		if code != int(exit.Usage) || len(asked) > 0 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, want %q in\n%s", text, code, want, out)
		}
	}
}

func FuzzDifference(f *testing.F) {
	f.Add(differenceExample)
	f.Add(`{"kind":"x","jqPathExpressions":[".spec"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDifference(text)
		if err == nil && d.Kind == "" {
			t.Errorf("%q gave a rule about nothing", text)
		}
	})
}

func TestFlagsBecomeTheChangeThatTheySay(t *testing.T) {
	ptr := func(s string) *string { return &s }
	yes, minute, n := true, time.Minute, int64(3)
	asked, out, code := typed(t, "truce", []app.Key{grokdevops}, "app", "set", "grokdevops", "-n", "argocd", "--path", "x", "--revision", "", "--sync-policy", "auto",
		"--self-heal", "--sync-option", "Prune=false", "--sync-option", "!Validate=false", "--sync-retry-limit", "3", "--sync-retry-backoff-duration", "1m", "--dry-run")
	want := []view.Edit{{App: grokdevops, How: view.Alter, DryRun: true, Change: dialect.Change{
		Path: ptr("x"), Revision: ptr(""), Policy: dialect.Automated, SelfHeal: &yes, Options: []string{"Prune=false", "!Validate=false"},
		Retry: dialect.Retry{Limit: &n, Duration: &minute},
	}}}
	if diff := cmp.Diff(want, asked); diff != "" || code != 0 || out != "application/grokdevops set (dry run)\n" {
		t.Errorf("code %d %s (-want +got):\n%s", code, out, diff)
	}
}

func TestCreateTakesTheDialectOfItsName(t *testing.T) {
	for program, want := range map[string]app.Key{
		"argocd": {Kind: "Application", Namespace: "argocd", Name: "web"}, "truce": {Kind: "Kustomization", Namespace: "shop", Name: "web"},
	} {
		args := []string{"app", "create", "web", "--repo", "r", "--path", "p"}
		if program == "truce" {
			args = append(args, "-n", "shop")
		}
		asked, out, code := typed(t, program, nil, args...)
		if code != 0 || len(asked) != 1 || asked[0].App != want || asked[0].How != view.Create {
			t.Errorf("%s: code %d, %v\n%s", program, code, asked, out)
		}
	}
}

func TestAFileOfOneAppIsRead(t *testing.T) {
	const source = "kind: GitRepository\nmetadata: {name: web}\n"
	for text, want := range map[string]string{
		source + "---\nkind: Kustomization\nmetadata: {name: web}\n": "",
		"kind: Application\nmetadata: {name: web}\n":                 "",
		source:              "no Kustomization and no Application",
		"kind: ConfigMap\n": `"ConfigMap" is no app`,
		"kind: Application\n---\nkind: Kustomization\n": "more than one",
		"": "no Kustomization",
	} {
		r, err := readResources(strings.NewReader(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err == nil && r.App.Name() != "web" {
			t.Errorf("%q gave %v", text, r)
		}
	}
}

func TestWhatWillNotLastIsSaidWithWhatToWriteInGit(t *testing.T) {
	cr := func(spec map[string]any) dialect.Resources {
		return dialect.Resources{App: object.Object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"namespace": "argocd", "name": "grokdevops"}, "spec": spec,
			"status": map[string]any{"sync": "x"},
		}}
	}
	rule := map[string]any{"group": "apps", "kind": "Deployment", "jsonPointers": []any{"/spec/replicas"}}
	e := view.EditResult{
		Before:    cr(map[string]any{"project": "default", "syncPolicy": map[string]any{"retry": map[string]any{"limit": int64(5)}, "automated": map[string]any{"prune": true}}}),
		After:     cr(map[string]any{"project": "default", "syncPolicy": map[string]any{"automated": map[string]any{"prune": true}}, "ignoreDifferences": []any{rule}}),
		Parent:    dialect.Parent{Key: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"}, By: "truce"},
		Overruled: true, Place: desired.Place{File: "apps/grokdevops.yaml", Line: 7}, Notes: []string{"one"},
	}
	var b bytes.Buffer
	if err := printEdited(&b, e); err != nil {
		t.Fatal(err)
	}
	want := `note: one

Application argocd/grokdevops is itself managed from Git, by Kustomization flux-system/apps, which will revert this.
To make it last, write it in Git, at apps/grokdevops.yaml:7:

  # Application grokdevops
  # delete spec.syncPolicy.retry
  spec:
    ignoreDifferences:
    - group: apps
      jsonPointers:
      - /spec/replicas
      kind: Deployment
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.Overruled = false
	e.After = cr(map[string]any{"project": "default", "syncPolicy": map[string]any{"automated": map[string]any{"prune": true}}})
	b.Reset()
	if err := printEdited(&b, e); err != nil || b.String() != "note: one\n" {
		t.Errorf("a field that only a person had set is to be deleted in Git: %v\n%s", err, b.String())
	}
	e.Parent = dialect.Parent{}
	b.Reset()
	if err := printEdited(&b, e); err != nil || b.String() != "note: one\n" {
		t.Errorf("%v %s", err, b.String())
	}
}

func TestATimeoutMayBeSecondsAsInArgocd(t *testing.T) {
	for text, want := range map[string]time.Duration{"120": 2 * time.Minute, "90s": 90 * time.Second, "0": 0} {
		var v timeoutValue
		if err := v.Set(text); err != nil || time.Duration(v) != want {
			t.Errorf("%s: %s, %v", text, time.Duration(v), err)
		}
	}
	for _, text := range []string{"", "-1", "-1s", "soon"} {
		if err := new(timeoutValue).Set(text); err == nil {
			t.Errorf("%q is a timeout", text)
		}
	}
}

func TestHistoryIsToldInEachForm(t *testing.T) {
	past := []dialect.HistoryEntry{
		{ID: 0, Revision: "main@sha1:" + strings.Repeat("a", 40), At: epoch, By: "jane"},
		{ID: 1, Revision: strings.Repeat("b", 40), Source: "https://git.example/x"},
	}
	for form, want := range map[string]string{
		"":   "ID   DATE                            REVISION            BY\n0    2026-11-21 09:00:00 +0000 UTC   main@sha1:aaaaaaa   jane\n1                                    bbbbbbb             truce\n",
		"id": "0\n1\n",
	} {
		var b bytes.Buffer
		f := &appFlags{program: &program{env: Environment{Out: &b, Err: io.Discard}}, output: form}
		if err := f.printHistory(grokdevops, past); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("-o %q (-want +got):\n%s", form, diff)
		}
	}
}
