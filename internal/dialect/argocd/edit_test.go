package argocd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const edited = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: grokdevops, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example/demo, path: app, targetRevision: main, futureField: {kept: yes}}
  destination: {server: https://kubernetes.default.svc, namespace: grokdevops}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`

func parsed(text string) overlay.Image {
	m, err := overlay.ParseImage(text)
	if err != nil {
		panic(err)
	}
	return m
}

func revisionSuffix[T any](v T) *T { return &v }

var replicas = dialect.Difference{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}

func TestAnEditSaysWhatItIsAskedAndNoMore(t *testing.T) {
	const automated = "  syncPolicy: {automated: {prune: true, selfHeal: true}}"
	for name, c := range map[string]struct {
		change   dialect.Change
		old, new string // in the text of the Application
	}{
		"document 2": {
			dialect.Change{Ignore: []dialect.Difference{replicas, replicas}}, automated,
			automated + "\n  ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]",
		},
		"every part of a rule": {
			dialect.Change{Ignore: []dialect.Difference{{Kind: "X", Name: "nn", Namespace: "s", JQPathExpressions: []string{".a"}, ManagedFieldsManagers: []string{"m"}}}}, automated,
			automated + "\n  ignoreDifferences: [{kind: X, name: nn, namespace: s, jqPathExpressions: [.a], managedFieldsManagers: [m]}]",
		},
		"a revision":     {dialect.Change{Revision: revisionSuffix("v1")}, "targetRevision: main", "targetRevision: v1"},
		"HEAD":           {dialect.Change{Revision: revisionSuffix("")}, ", targetRevision: main", ""},
		"unset revision": {dialect.Change{Unset: []string{"revision"}}, ", targetRevision: main", ""},
		"repo and path":  {dialect.Change{Repo: revisionSuffix("https://git.example/r"), Path: revisionSuffix("p")}, "repoURL: https://git.example/demo, path: app", "repoURL: https://git.example/r, path: p"},
		"files":          {dialect.Change{Files: overlay.FilesChange{Recurse: revisionSuffix(true), Exclude: revisionSuffix("*.json"), Include: revisionSuffix("")}}, "path: app", "path: app, directory: {recurse: true, exclude: '*.json'}"},
		"own files only": {dialect.Change{Files: overlay.FilesChange{Recurse: revisionSuffix(false)}}, "", ""},
		"destination":    {dialect.Change{Cluster: revisionSuffix("in-cluster"), Namespace: revisionSuffix("other")}, "{server: https://kubernetes.default.svc, namespace: grokdevops}", "{name: in-cluster, namespace: other}"},
		"manual":         {dialect.Change{Policy: dialect.Manual}, automated, ""},
		"automated":      {dialect.Change{Policy: dialect.Automated}, "", ""},
		"no self-heal":   {dialect.Change{SelfHeal: revisionSuffix(false)}, "selfHeal: true", "selfHeal: false"},
		"allow empty":    {dialect.Change{Empty: revisionSuffix(true), Prune: revisionSuffix(false)}, "{prune: true, selfHeal: true}", "{prune: false, selfHeal: true, allowEmpty: true}"},
		"options":        {dialect.Change{Options: []string{"Prune=false", "Validate=false", "Prune=confirm", "!Validate=false", "!None"}}, "automated: ", "syncOptions: [Prune=confirm], automated: "},
		"retry": {
			dialect.Change{Retry: dialect.Retry{Limit: revisionSuffix(int64(-1)), Duration: revisionSuffix(3 * time.Minute), MaxDuration: revisionSuffix(2 * time.Hour), Factor: revisionSuffix(int64(3)), Refresh: revisionSuffix(true)}},
			"automated: ", "retry: {limit: -1, refresh: true, backoff: {duration: 3m, maxDuration: 2h, factor: 3}}, automated: ",
		},
		"history": {dialect.Change{Keep: revisionSuffix(int64(3))}, "  project", "  revisionHistoryLimit: 3\n  project"},
		"suspend": {dialect.Change{Suspend: revisionSuffix(true)}, "namespace: argocd}", "namespace: argocd, annotations: {argocd.argoproj.io/skip-reconcile: 'true'}}"},
		"kustomize": {
			dialect.Change{Overlay: overlay.Change{
				NamePrefix: revisionSuffix("my-"), Namespace: revisionSuffix("ns"), Labels: map[string]string{"a": "b"}, WithoutSelectors: revisionSuffix(true), Templates: revisionSuffix(false), Optional: revisionSuffix(true),
				Images: []overlay.Image{parsed("web:1"), parsed("web:2"), parsed("db=*:3")}, Replicas: []overlay.Replica{{Name: "web", Count: 1}, {Name: "web", Count: 2}},
			}},
			"path: app", "path: app, kustomize: {namePrefix: my-, namespace: ns, commonLabels: {a: b}, labelWithoutSelector: true, ignoreMissingComponents: true, images: ['web:2', 'db=*:3'], replicas: [{name: web, count: 2}]}",
		},
		"chart": {
			dialect.Change{Revision: revisionSuffix("1.2.*"), Path: revisionSuffix(""), Chart: overlay.ChartChange{
				Chart: revisionSuffix("web"), Release: revisionSuffix("shop"), Values: revisionSuffix("a: 1"), ValueFiles: []string{"prod.yaml"}, SkipCRDs: revisionSuffix(true), MissingFiles: revisionSuffix(false),
				Parameters: []overlay.Parameter{{Name: "image.tag", Value: "1"}, {Name: "image.tag", Value: "2", Text: true}, {Name: "key", Value: "key.pem", File: true}},
			}},
			"path: app, targetRevision: main", "chart: web, targetRevision: 1.2.*, helm: {releaseName: shop, values: 'a: 1', valueFiles: [prod.yaml], skipCrds: true, parameters: [{name: image.tag, value: '2', forceString: true}], fileParameters: [{name: key, path: key.pem}]}",
		},
		"cascade": {dialect.Change{Leave: policy.PruneDelete}, "namespace: argocd}", "namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}"},
		"orphan":  {dialect.Change{Leave: policy.PruneKeep}, "", ""},
		"resume":  {dialect.Change{Suspend: revisionSuffix(false), Pin: revisionSuffix("")}, "", ""},
		"sync": {
			dialect.Change{Run: &dialect.Run{Token: "t", By: "jane", Revision: "v1", Prune: revisionSuffix(true), DryRun: true, Options: []string{"X=1"}, Hooks: hook.SkipHooks, Resources: []object.ID{{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "web"}, {Kind: "Service", Name: "web"}}}},
			"apiVersion", "operation: {info: [{name: truce.dev/request, value: t}], initiatedBy: {username: jane}, sync: {revision: v1, prune: true, dryRun: true, syncOptions: [X=1], syncStrategy: {apply: {}}, resources: [{group: apps, kind: Deployment, namespace: ns, name: web}, {group: '', kind: Service, name: web}]}}\napiVersion",
		},
		"rollback": {
			dialect.Change{Pin: revisionSuffix("abc"), Run: &dialect.Run{Token: "t", Revision: "abc"}},
			automated, "  syncPolicy: {automated: {prune: true, selfHeal: true, enabled: false}}\noperation: {info: [{name: truce.dev/request, value: t}], initiatedBy: {username: truce}, sync: {revision: abc}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.old != "" && !strings.Contains(edited, c.old) {
				t.Fatalf("the Application has no %q", c.old)
			}
			before := given.Object(t, edited)
			got, err := argocd.Commands{}.Edit(dialect.Resources{App: before}, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(given.Object(t, strings.Replace(edited, c.old, c.new, 1)), got.App); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given.Object(t, edited), before); diff != "" {
				t.Errorf("what was given was changed:\n%s", diff)
			}
			for _, p := range (argocd.Applications{}).App(got.App, policy.Policy{}).Problems {
				t.Errorf("an Application with a problem came of it: %s: %s", p.Field, p.Reason)
			}
		})
	}
}

func TestARollbackIsHeldUntilTheAppIsResumed(t *testing.T) {
	r := dialect.Resources{App: given.Object(t, edited)}
	back, err := argocd.Commands{}.Edit(r, dialect.Change{Pin: revisionSuffix("abc"), Run: &dialect.Run{Revision: "abc"}})
	if err != nil {
		t.Fatal(err)
	}
	a := argocd.Applications{}.App(back.App, policy.Policy{})
	if a.Rollout != app.OnRequest || a.SyncRequest.Revision != "abc" {
		t.Errorf("rollout %s, order %+v", a.Rollout, a.SyncRequest)
	}
	delete(back.App, "operation")
	on, err := argocd.Commands{}.Edit(back, dialect.Change{Suspend: revisionSuffix(false), Pin: revisionSuffix("")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.App, on.App); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRulesAreTakenAwayByTheirPlaceOrByWhatTheySay(t *testing.T) {
	other := dialect.Difference{Kind: "Service", JSONPointers: []string{"/spec/type"}}
	r := dialect.Resources{App: given.Object(t, edited)}
	edit := func(c dialect.Change) {
		t.Helper()
		var err error
		if r, err = (argocd.Commands{}).Edit(r, c); err != nil {
			t.Fatal(err)
		}
	}
	edit(dialect.Change{Ignore: []dialect.Difference{replicas, other}})
	edit(dialect.Change{UnignoreAt: []int{0}})
	if _, err := (argocd.Commands{}).Edit(r, dialect.Change{Unignore: []dialect.Difference{replicas}}); err == nil || !strings.Contains(err.Error(), `there are 0: {"jsonPointers":["/spec/type"],"kind":"Service"}`) {
		t.Errorf("a rule that is gone is taken away again: %v", err)
	}
	edit(dialect.Change{Unignore: []dialect.Difference{other}})
	if diff := cmp.Diff(given.Object(t, edited), r.App); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneOfSeveralSourcesIsChanged(t *testing.T) {
	several := func(first, second string) string {
		return strings.Replace(edited, "  source: {repoURL: https://git.example/demo, path: app, targetRevision: main, futureField: {kept: yes}}", "  sources: ["+first+", "+second+"]", 1)
	}
	const values, chart = "{repoURL: https://git.example/demo, ref: values, name: values}", "{repoURL: https://charts.example, chart: web, targetRevision: 1.0.0, helm: {valueFiles: [$values/a.yaml], parameters: [{name: a, value: b}]}}"
	r := dialect.Resources{App: given.Object(t, several(values, chart))}
	for _, c := range []struct {
		change        dialect.Change
		first, second string
	}{
		{dialect.Change{Source: "values", Revision: revisionSuffix("v1")}, "{repoURL: https://git.example/demo, ref: values, name: values, targetRevision: v1}", chart},
		{dialect.Change{Source: "2", Chart: overlay.ChartChange{DropParameters: []string{"a"}}}, values, strings.Replace(chart, ", parameters: [{name: a, value: b}]", "", 1)},
		{dialect.Change{Source: "2", Chart: overlay.ChartChange{DropParameters: []string{"a"}, DropValueFiles: []string{"$values/a.yaml"}}}, values, strings.Replace(chart, ", helm: {valueFiles: [$values/a.yaml], parameters: [{name: a, value: b}]}", "", 1)},
	} {
		got, err := argocd.Commands{}.Edit(r, c.change)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(given.Object(t, several(c.first, c.second)), got.App); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.change, diff)
		}
	}
}

func TestAnEditThatContradictsWhatIsThereIsRefused(t *testing.T) {
	manual := strings.Replace(edited, "{automated: {prune: true, selfHeal: true}}", "{}", 1)
	for want, c := range map[string]struct {
		cr     string
		change dialect.Change
	}{
		"cannot set --auto-prune: application not configured with automatic sync": {manual, dialect.Change{Prune: revisionSuffix(true)}},
		"another operation is already in progress":                                {edited + "operation: {sync: {}}", dialect.Change{Run: &dialect.Run{}}},
		"--dest-server or --dest-name":                                            {edited, dialect.Change{Server: revisionSuffix("a"), Cluster: revisionSuffix("b")}},
		"--source-position or --source-name":                                      {strings.Replace(edited, "  source:", "  sources: [{}]\n  source:", 1), dialect.Change{Path: revisionSuffix("x")}},
		"no rule 1; there are none":                                               {edited, dialect.Change{UnignoreAt: []int{1}}},
		"nothing to unset by --x":                                                 {edited, dialect.Change{Unset: []string{"x"}}},
		"has no source 2: there are 1, counted from 1":                            {strings.Replace(edited, "  source:", "  sources: [{}]\n  source:", 1), dialect.Change{Source: "2", Path: revisionSuffix("x")}},
		"has no source web: there are 0":                                          {edited, dialect.Change{Source: "web", Path: revisionSuffix("x")}},
		"has no parameter a":                                                      {edited, dialect.Change{Chart: overlay.ChartChange{DropParameters: []string{"a"}}}},
		"valueFiles has no a.yaml":                                                {edited, dialect.Change{Chart: overlay.ChartChange{DropValueFiles: []string{"a.yaml"}}}},
		"value of another form":                                                   {strings.Replace(edited, "{server: https://kubernetes.default.svc, namespace: grokdevops}", "x", 1), dialect.Change{Namespace: revisionSuffix("x")}},
	} {
		if _, err := (argocd.Commands{}).Edit(dialect.Resources{App: given.Object(t, c.cr)}, c.change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestWhatIsCreatedIsAnAppWithoutProblems(t *testing.T) {
	key := app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
	if _, err := (argocd.Commands{}).Create(key, dialect.Change{Repo: revisionSuffix("x")}); err == nil || err.Error() != "--path is required, or --helm-chart" {
		t.Errorf("no path: %v", err)
	}
	r, err := argocd.Commands{}.Create(key, dialect.Change{
		Repo: revisionSuffix("https://git.example/demo"), Path: revisionSuffix("app"), Namespace: revisionSuffix("web"), Policy: dialect.Automated, SelfHeal: revisionSuffix(true), Prune: revisionSuffix(true), Ignore: []dialect.Difference{replicas},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := argocd.Applications{}.App(r.App, policy.Policy{})
	if len(a.Problems)+len(a.Notes) > 0 || a.Key != key || a.Rollout != app.IfChanged || a.Policy.Remediation != policy.Remediate || len(a.Ignore) != 1 {
		t.Errorf("%+v", a)
	}
}

const reported = edited + `
status:
  sync: {status: OutOfSync, revision: aaaa, comparedTo: {source: {repoURL: https://git.example/demo, path: app, targetRevision: main, futureField: {kept: yes}}, destination: {server: https://kubernetes.default.svc, namespace: grokdevops}}}
  health: {status: Degraded}
  resources: [{group: apps, version: v1, kind: Deployment, namespace: grokdevops, name: web, status: OutOfSync, health: {status: Missing}}]
  conditions: [{type: SharedResourceWarning, message: shared, lastTransitionTime: "2026-11-21T09:00:00Z"}]
  history: [{id: 0, revision: aaaa, deployedAt: "2026-11-21T09:00:00Z", source: {repoURL: https://git.example/demo}, initiatedBy: {username: jane}}]
  operationState: {phase: Succeeded, message: done, startedAt: "2026-11-21T09:00:00Z", finishedAt: "2026-11-21T09:00:01Z", operation: {info: [{name: truce.dev/request, value: token}], sync: {}}, syncResult: {revision: aaaa, resources: [{group: apps, version: v1, kind: Deployment, namespace: grokdevops, name: web, status: Synced, message: configured}]}}
`

func TestTheStatusIsReadAsArgoCDWritesIt(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	got := argocd.Commands{}.Summarize(given.Object(t, reported))
	want := dialect.Summary{
		State: report.State{Sync: "OutOfSync", Health: health.Status{Code: "Degraded"}, Ready: "True", Reason: "Succeeded"},
		End:   report.End{Reason: "Succeeded", Message: "done"}, Message: "done", Revision: "aaaa", HandledRequest: "token", Finished: true, Target: "main",
		Objects:    []dialect.ListedObject{{ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "grokdevops", Name: "web"}, Version: "v1", Sync: "OutOfSync", Health: "Missing", Message: "configured"}},
		History:    []dialect.HistoryEntry{{Revision: "aaaa", At: at, By: "jane", Source: "https://git.example/demo"}},
		Conditions: []dialect.Condition{{Type: "SharedResourceWarning", Message: "shared", Since: at}},
		Lines: []dialect.SummaryLine{
			{Label: "Project", Text: "default"}, {Label: "Server", Text: "https://kubernetes.default.svc"}, {Label: "Namespace", Text: "grokdevops"},
			{Label: "Source"}, {Label: "- Repo", Text: "https://git.example/demo"}, {Label: "  Target", Text: "main"}, {Label: "  Path", Text: "app"},
			{Label: "Sync Policy", Text: "Automated (Prune)"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fought := argocd.Commands{}.Summarize(given.Object(t, strings.Replace(reported, "{type: SharedResourceWarning, message: shared,", "{type: FieldsContestedWarning, message: evidence,", 1)))
	if fought.Contested != "evidence" {
		t.Errorf("what is contested: %q", fought.Contested)
	}
	for name, change := range map[string][2]string{
		"another path":           {"  source: {repoURL: https://git.example/demo, path: app", "  source: {repoURL: https://git.example/demo, path: other"},
		"a rule more":            {"  syncPolicy:", "  ignoreDifferences: [{kind: X, jsonPointers: [/x]}]\n  syncPolicy:"},
		"an operation waits":     {"apiVersion:", "operation: {sync: {}}\napiVersion:"},
		"an operation goes on":   {`, finishedAt: "2026-11-21T09:00:01Z"`, ""},
		"a refresh is asked for": {"namespace: argocd}", "namespace: argocd, annotations: {argocd.argoproj.io/refresh: normal}}"},
	} {
		if (argocd.Commands{}).Summarize(given.Object(t, strings.Replace(reported, change[0], change[1], 1))).Finished {
			t.Errorf("%s: it is settled", name)
		}
	}
	if ruled := strings.Replace(reported, "comparedTo: {", "comparedTo: {ignoreDifferences: [{kind: X, jsonPointers: [/x]}], ", 1); ruled == reported || (argocd.Commands{}).Summarize(given.Object(t, ruled)).Finished {
		t.Error("a rule less: it is settled")
	}
	if s := (argocd.Commands{}).Summarize(given.Object(t, strings.Replace(reported, "https://git.example/demo, path", "https://me:hunter2@git.example/demo, path", 1))); strings.Contains(s.Lines[4].Text, "hunter2") {
		t.Errorf("a password is shown: %s", s.Lines[4].Text)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(edited, "/spec/replicas", "apps", 0)
	f.Add(reported, "x", "[", 9)
	f.Add("spec: {syncPolicy: 3, sources: x, ignoreDifferences: {}}\nmetadata: {finalizers: 3}\nstatus: []", "x", "", -1)
	f.Fuzz(func(t *testing.T, cr, pointer, group string, at int) {
		var o object.Object
		if yaml.Unmarshal([]byte(cr), &o) != nil || o == nil {
			return
		}
		commands := argocd.Commands{}
		for _, c := range []dialect.Change{
			{Revision: &group, Policy: dialect.Automated, SelfHeal: revisionSuffix(true), UnignoreAt: []int{at}},
			{Ignore: []dialect.Difference{{Group: group, Kind: "Deployment", JSONPointers: []string{pointer}}}, Options: []string{group}},
			{Pin: &pointer, Run: &dialect.Run{Revision: pointer}, Leave: policy.PruneDelete},
			{Unset: []string{"sync-policy", "revision"}, Suspend: revisionSuffix(true)},
		} {
			_, _ = commands.Edit(dialect.Resources{App: o}, c) // must not panic, whatever it says
		}
		_ = commands.Summarize(o)
	})
}

func TestWhatIsLaidOverTheFilesIsTakenAwayByName(t *testing.T) {
	const laid = "path: app, kustomize: {namePrefix: x-, images: ['web=y/web:1', 'db:1'], replicas: [{name: web, count: 2}]}"
	before := given.Object(t, strings.Replace(edited, "path: app", laid, 1))
	edit := func(c dialect.Change) (dialect.Resources, error) {
		return argocd.Commands{}.Edit(dialect.Resources{App: before.Clone()}, c)
	}
	got, err := edit(dialect.Change{Unset: []string{"nameprefix"}, Overlay: overlay.Change{DropImages: []string{"db"}, DropReplicas: []string{"web"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := given.Object(t, strings.Replace(edited, "path: app", "path: app, kustomize: {images: ['web=y/web:1']}", 1))
	if diff := cmp.Diff(want, got.App); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = edit(dialect.Change{Unset: []string{"nameprefix"}, Overlay: overlay.Change{DropImages: []string{"db", "web"}, DropReplicas: []string{"web"}}})
	if diff := cmp.Diff(given.Object(t, edited), got.App); diff != "" || err != nil {
		t.Errorf("%v, and all gone (-want +got):\n%s", err, diff)
	}
	if _, err := edit(dialect.Change{Overlay: overlay.Change{DropImages: []string{"cache"}}}); err == nil || err.Error() != "spec.source.kustomize.images has nothing for cache" {
		t.Errorf("an override that is not there: %v", err)
	}
}
