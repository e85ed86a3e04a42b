package stories

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	chartOfSources = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {version: {{ .Chart.Version | quote }}, who: {{ .Values.who | quote }}, banner: {{ .Values.banner | quote }}}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {by: chart}\n"
	plainOfSources = "-- plain/extra.yaml --\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {of: plain}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: twice}\ndata: {by: plain}\n"
)

// sourcesOf creates an Application with several sources.
func (w *world) sourcesOf(name, policy string, sources ...string) {
	w.t.Helper()
	text := w.applicationText(name, "none", policy)
	one := "source: {repoURL: \"file://" + w.repo.Dir + "\", path: none, targetRevision: main}"
	w.Apply(w.t, strings.Replace(text, one, "sources:\n  - "+strings.Join(sources, "\n  - "), 1))
	w.t.Cleanup(w.removeApps)
}

// writtenFiles is a directory of the story's machine with files.
func writtenFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// atRevisions waits until the Application is Synced to a revision of each of its sources.
func (w *world) atRevisions(name string, revisions ...string) *unstructured.Unstructured {
	w.t.Helper()
	return w.becomes(name, func(o *unstructured.Unstructured) bool {
		have, _, _ := unstructured.NestedStringSlice(o.Object, "status", "sync", "revisions")
		return text(o, "status", "sync", "status") == "Synced" && slices.Equal(have, revisions)
	})
}

// TestAnApplicationOfSeveralSources: a chart of a Helm repository, values of a Git repository, and manifests of another one.
func TestAnApplicationOfSeveralSources(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, plainOfSources)
	charts := charttest.New(t)
	charts.Push("web", "1.0.0", map[string]string{"templates/c.yaml": chartOfSources, "values.yaml": "who: chart"})
	values := gittest.New(t, map[string]string{"envs/web/prod.yaml": "who: prod\n", "banner.txt": "hello"})
	chart := fmt.Sprintf("{repoURL: %q, chart: web, targetRevision: 1.x, helm: {valueFiles: [$values/envs/$ARGOCD_APP_NAME/prod.yaml], fileParameters: [{name: banner, path: $values/banner.txt}]}}", charts.URL())
	ref := fmt.Sprintf("{repoURL: %q, targetRevision: main, ref: values}", "file://"+values.Dir)
	plain := fmt.Sprintf("{repoURL: %q, targetRevision: main, path: plain}", "file://"+w.repo.Dir)
	c := w.Watch(t, configmaps, w.ns, "web")
	w.sourcesOf("web", automated, chart, ref, plain)

	o := w.atRevisions("web", "1.0.0", values.Head(), w.repo.Head())
	w.await(c, func(o *unstructured.Unstructured) bool {
		return value(o, "who") == "prod" && value(o, "banner") == "hello"
	})
	w.await(w.Watch(t, configmaps, w.ns, "extra"), func(*unstructured.Unstructured) bool { return true })
	w.await(w.Watch(t, configmaps, w.ns, "twice"), func(o *unstructured.Unstructured) bool { return value(o, "by") == "plain" })
	t.Log(w.argoCondition("web", "RepeatedResourceWarning", "twice"))
	h := entries(o, "status", "history")
	if len(h) != 1 || fmt.Sprint(h[0]["revisions"]) != fmt.Sprint([]string{"1.0.0", values.Head(), w.repo.Head()}) || len(h[0]["sources"].([]any)) != 3 {
		t.Errorf("history = %v, want the revisions of three sources", h)
	}
	if got := entries(o, "status", "sync", "comparedTo", "sources"); len(got) != 3 {
		t.Errorf("comparedTo.sources = %v", got)
	}
	if got := entries(o, "status", "operationState", "syncResult", "sources"); len(got) != 3 {
		t.Errorf("syncResult.sources = %v", got)
	}

	// The values alone change; then the chart alone; then the manifests alone.
	values.Commit(map[string]string{"envs/web/prod.yaml": "who: newer\n"}, "newer")
	w.refresh("web")
	w.await(c, func(o *unstructured.Unstructured) bool { return value(o, "who") == "newer" })
	charts.Push("web", "1.1.0", map[string]string{"templates/c.yaml": chartOfSources})
	w.refresh("web")
	w.await(c, func(o *unstructured.Unstructured) bool {
		return value(o, "version") == "1.1.0" && value(o, "who") == "newer"
	})
	w.repo.Commit(map[string]string{"plain/extra.yaml": strings.ReplaceAll(strings.TrimPrefix(plainOfSources, "-- plain/extra.yaml --\n"), "of: plain", "of: changed")}, "changed")
	w.await(w.Watch(t, configmaps, w.ns, "extra"), func(o *unstructured.Unstructured) bool { return value(o, "of") == "changed" })
	o = w.atRevisions("web", "1.1.0", values.Head(), w.repo.Head())
	if h := entries(o, "status", "history"); len(h) != 4 {
		t.Errorf("history has %d entries, want 4: %v", len(h), h)
	}

	// Values of this machine, committed or not, are in the place of their repository.
	run := w.truce()
	clone := writtenFiles(t, map[string]string{"envs/web/prod.yaml": "who: local\n", "banner.txt": "hello"})
	w.saysOf(run, 1, "app diff web --source-positions 2 --path "+clone, `"local"`, "1 difference")
	w.saysOf(run, 2, "app diff web --source-positions 1 --path "+clone, "spec.sources[0] is a chart of a repository")

	// Drift is put back.
	w.undone(c, func() { w.kubectl("patch", "configmap/web", "--type=merge", "-p", `{"data":{"who":"me"}}`) },
		func(o *unstructured.Unstructured) bool { return value(o, "who") == "me" }, func(o *unstructured.Unstructured) bool { return value(o, "who") == "newer" })

	// A source that is not there is this Application's condition alone, and takes nothing away.
	w.application("other", "plain2", automated)
	w.repo.Commit(map[string]string{"plain2/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside}\n"}, "another app")
	w.kubectl("patch", "application.argoproj.io/web", "--type=json", "-p", `[{"op":"replace","path":"/spec/sources/1/targetRevision","value":"absent"}]`)
	t.Log(w.argoCondition("web", "ComparisonError", "spec.sources[1]"))
	w.inSync("other")
	if !w.isThere(configmaps, "web") || !w.isThere(configmaps, "extra") {
		t.Error("an object is gone")
	}
	w.kubectl("patch", "application.argoproj.io/web", "--type=json", "-p", `[{"op":"replace","path":"/spec/sources/1/targetRevision","value":"main"}]`)
	w.atRevisions("web", "1.1.0", values.Head(), w.repo.Head())

	// A file of values that leads out of its source is refused.
	values.Commit(map[string]string{"envs/web/prod.yaml": "who: last\n"}, "last")
	w.kubectl("patch", "application.argoproj.io/web", "--type=json", "-p", `[{"op":"replace","path":"/spec/sources/0/helm/valueFiles/0","value":"$values/../sources.2/plain/extra.yaml"}]`)
	t.Log(w.argoCondition("web", "InvalidSpecError", "valueFiles[0]"))
}

// TestSourcesAtRevisionsOfTheirOwn: each of several sources is previewed and synced at a revision of its own, and is named as the place of its fields.
func TestSourcesAtRevisionsOfTheirOwn(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("plain", "one"))
	two := func(v string) map[string]string {
		return map[string]string{"more/two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\ndata: {k: \"" + v + "\"}\n"}
	}
	other := gittest.New(t, two("first"))
	source := func(repo *gittest.Repo, path string) string {
		return fmt.Sprintf("{repoURL: %q, targetRevision: main, path: %s}", "file://"+repo.Dir, path)
	}
	w.sourcesOf("web", manually, source(w.repo, "plain"), source(other, "more"))
	old := []string{w.repo.Head(), other.Head()}
	sync := func(revisions, have string) {
		t.Helper()
		if phase, message := w.order("web", `{"sync":{`+revisions+`}}`); phase != "Succeeded" {
			t.Fatalf("the sync of %s: %s %s", revisions, phase, message)
		}
		if got := w.kubectl("get", "configmap", "one", "two", "-o", "jsonpath={.items[*].data.k}"); got != have {
			t.Errorf("after the sync of %s the values are %q, want %q", revisions, got, have)
		}
	}
	w.becomes("web", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	sync("", "one first")
	w.edit("plain/one.yaml", `"k":"one"`, `"k":"new"`)
	other.Commit(two("second"), "second")
	w.refresh("web")
	sync("", "new second")
	w.atRevisions("web", w.repo.Head(), other.Head())

	run := w.truce()
	w.saysOf(run, 0, "app diff web", "no differences")
	if code, got := run("app", "diff", "web", "--revisions", old[1], "--source-positions", "2"); code != 1 || !strings.Contains(got, "first") || strings.Contains(got, "one.yaml") {
		t.Errorf("the second source at its former revision (exit code %d):\n%s", code, got)
	}
	w.saysOf(run, 1, "app diff web --revisions "+old[0]+" --source-positions 1 --revisions "+old[1]+" --source-positions 2", `"one"`, `"first"`, "2 differences")
	w.saysOf(run, 2, "app diff web --revisions "+old[0]+" --source-positions 3", "web has 2 sources")
	more := writtenFiles(t, map[string]string{"two.yaml": two("local")["more/two.yaml"]})
	w.saysOf(run, 1, "app diff web --source-positions 2 --path "+more, `"local"`, "1 difference")
	w.saysOf(run, 2, "app diff web --path "+more, "1 for file://"+w.repo.Dir, "2 for file://"+other.Dir)
	w.saysOf(run, 2, "app diff web --source-positions 3 --path "+more, "web has 2 sources")
	w.saysOf(run, 0, "why configmap/one .data.k", "plain/one.yaml", w.repo.Dir)
	w.saysOf(run, 0, "blame configmap/two", "sources.1/more/two.yaml")

	sync(`"revisions":["","`+old[1]+`"]`, "new first")
	h := entries(w.getApplication("web"), "status", "history")
	sources, err := json.Marshal(h[0]["sources"])
	if err != nil {
		t.Fatal(err)
	}
	sync(`"sources":`+string(sources)+`,"revisions":["`+old[0]+`","`+old[1]+`"]`, "one first")
}
