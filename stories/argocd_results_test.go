package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operated are the names of the objects of the newest operation, in order.
func operated(o *unstructured.Unstructured) []string {
	var out []string
	for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
		out = append(out, fmt.Sprint(r["name"]))
	}
	slices.Sort(out)
	return out
}

// TestAnOperationListsWhatItHasApplied: with ApplyOutOfSyncOnly an operation lists the objects that it has written.
func TestAnOperationListsWhatItHasApplied(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b", "c"))
	w.application("web", "app", "\nsyncPolicy: {automated: {}, syncOptions: [ApplyOutOfSyncOnly=true]}")
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the first operation lists %v", got)
	}
	w.edit("app/b.yaml", `"k":"b"`, `"k":"two"`)
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the operation about a change of b lists %v", got)
	}
	w.kubectl("delete", "configmap", "c")
	w.outOfSync("web")
	if phase, message := w.order("web", `{"sync":{"syncOptions":["ApplyOutOfSyncOnly=true"]}}`); phase != "Succeeded" {
		t.Errorf("%s %s", phase, message)
	}
	if got := operated(w.inSync("web")); !slices.Equal(got, []string{"c"}) {
		t.Errorf("the operation about c, which was deleted, lists %v", got)
	}
}

// TestAnOperationNamesTheRevisionThatWasAskedFor: also where there is no such commit.
func TestAnOperationNamesTheRevisionThatWasAskedFor(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.application("web", "app", automated)
	w.inSync("web")
	none := strings.Repeat("0123456789", 4)
	if phase, message := w.order("web", `{"sync":{"revision":"`+none+`"}}`); phase != "Error" || !strings.Contains(message, none) {
		t.Errorf("%s %s", phase, message)
	}
	if got := text(w.getApplication("web"), "status", "operationState", "syncResult", "revision"); got != none {
		t.Errorf("the operation names %s, want what was asked for", got)
	}
}

// TestANamespaceThatIsDeletedByHandFailsTheSelfHeal: as in Argo CD the Application is Missing, and the operation that is to create the objects again is
// shown, until it succeeds.
func TestANamespaceThatIsDeletedByHandFailsTheSelfHeal(t *testing.T) {
	far := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: far, namespace: NAMESPACE-far}\ndata: {k: far}\n"
	w := newArgoWorld(t, policy.Policy{}, "-- app/far.yaml --\n"+far+"-- app/web.yaml --\n"+configMap("web"))
	home := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.ns + "-far}\n"
	w.Apply(t, home)
	w.application("web", "app", "\nsyncPolicy: {automated: {selfHeal: true}, retry: {limit: 100, backoff: {duration: 10ms, factor: 1}}}")
	w.inSync("web")
	w.delete(namespaces, "", w.ns+"-far")
	w.delete(configmaps, w.ns+"-far", "far")
	o := w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Failed"
	})
	if sync, health := text(o, "status", "sync", "status"), text(o, "status", "health", "status"); sync != "OutOfSync" || health != "Missing" {
		t.Errorf("it is %s, %s", sync, health)
	}
	if got := operated(o); !slices.Equal(got, []string{"far"}) || !strings.Contains(text(o, "status", "operationState", "message"), "terminated") {
		t.Errorf("the operation is about %v: %s", got, text(o, "status", "operationState", "message"))
	}
	end := filepath.Join(t.TempDir(), "namespace.json") // there is no namespace controller
	if err := os.WriteFile(end, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+w.ns+`-far"},"spec":{"finalizers":[]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.kubectl("replace", "--raw", "/api/v1/namespaces/"+w.ns+"-far/finalize", "-f", end)
	w.Apply(t, home)
	t.Cleanup(func() { w.delete(namespaces, "", w.ns+"-far") })
	o = w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Succeeded" && text(o, "status", "sync", "status") == "Synced"
	})
	if got := operated(o); !slices.Equal(got, []string{"far"}) || len(entries(o, "status", "history")) != 1 {
		t.Errorf("the operation is about %v, and the history has %d entries", got, len(entries(o, "status", "history")))
	}
}

// TestMessagesNameTheFilesOfASource: of several sources by the field of the Application, and the file as the source has it.
func TestMessagesNameTheFilesOfASource(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("one", "a")+"-- two/bad.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n")
	at := `repoURL: "file://` + w.repo.Dir + `", targetRevision: main`
	w.sourcesOf("web", "\nsyncPolicy: {automated: {}, retry: {limit: 0}}", "{"+at+", path: one}", "{"+at+", path: two}")
	message := w.argoCondition("web", "SyncError", "Bad_Name")
	if !strings.HasPrefix(message, "spec.sources[1] two/bad.yaml:1: ConfigMap ") {
		t.Errorf("the condition says %s", message)
	}
	o := w.getApplication("web")
	if message := text(o, "status", "operationState", "message"); strings.Contains(message, "sources.1/") {
		t.Errorf("the operation says %s", message)
	}
}

// TestWithPruneFalseNothingIsPruned: as an option of the Application it holds against automated prune, and against an operation that prunes, and such an
// operation without it prunes nothing either.
func TestWithPruneFalseNothingIsPruned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ policy, operation string }{
		"automated":                  {"\nsyncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [Prune=false]}", ""},
		"a sync that prunes":         {"\nsyncPolicy: {syncOptions: [Prune=false]}", `{"sync":{"prune":true}}`},
		"an option of a sync":        {"\nsyncPolicy: {}", `{"sync":{"prune":true,"syncOptions":["Prune=false"]}}`},
		"a sync that does not prune": {"\nsyncPolicy: {automated: {prune: true, enabled: false}}", `{"sync":{"prune":false}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
			w.application("web", "app", c.policy)
			sync := func() {
				t.Helper()
				if c.operation == "" {
					return
				}
				w.outOfSync("web")
				if phase, message := w.order("web", c.operation); phase != "Succeeded" {
					t.Fatalf("%s %s", phase, message)
				}
			}
			sync()
			w.inSync("web")
			w.repo.Remove("app/b.yaml")
			sync()
			o := w.outOfSync("web")
			if !w.isThere(configmaps, "b") || listed(o) != "ConfigMap a Synced, ConfigMap b OutOfSync" {
				t.Errorf("it lists %s; b is there: %v", listed(o), w.isThere(configmaps, "b"))
			}
			if c.operation == "" {
				return
			}
			for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
				if r["name"] == "b" && r["status"] != "PruneSkipped" {
					t.Errorf("the operation says of b %v", r)
				}
			}
		})
	}
}

// configMapThatAsks is a ConfigMap with sync options.
func configMapThatAsks(name, options string) string {
	return strings.Replace(configMap(name), `"name":`, `"annotations":{"argocd.argoproj.io/sync-options":"`+options+`"},"name":`, 1)
}

// toConfirm are the objects whose deletion a person has to confirm.
func toConfirm(o *unstructured.Unstructured) string {
	var out []string
	for _, r := range entries(o, "status", "resources") {
		if r["requiresDeletionConfirmation"] == true {
			out = append(out, fmt.Sprint(r["name"], " ", r["status"]))
		}
	}
	return strings.Join(out, ", ")
}

// TestAnObjectThatAsksForAConfirmationSaysSo: of its deletion, in the status, as the clients of Argo CD show it.
func TestAnObjectThatAsksForAConfirmationSaysSo(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/a.yaml --\n"+configMapThatAsks("a", "Prune=confirm")+"-- app/b.yaml --\n"+configMapThatAsks("b", "Delete=confirm")+configMaps("app", "c"))
	w.application("web", "app", automated)
	if got := toConfirm(w.inSync("web")); got != "a Synced, b Synced" {
		t.Errorf("a confirmation need %s", got)
	}
	w.repo.Remove("app/a.yaml")
	w.argoCondition("web", "SyncError", "without confirmation")
	if got := toConfirm(w.outOfSync("web")); got != "b Synced, a OutOfSync" {
		t.Errorf("when a has left Git, a confirmation need %s", got)
	}
}

// TestAnObjectsOwnOptionCountsInsteadOfTheApplications: as in Argo CD, each option by itself.
func TestAnObjectsOwnOptionCountsInsteadOfTheApplications(t *testing.T) {
	files := configMaps("app", "none")
	for name, options := range map[string]string{
		"prune": "Prune=false", "delete": "Delete=false", "both": "Prune=false,Delete=false", "pruned": "Prune=true", "deleted": "Delete=true", "asks": "Delete=false, Prune=confirm",
	} {
		files += "-- app/" + name + ".yaml --\n" + configMapThatAsks(name, options)
	}
	for options, want := range map[string]string{
		"Prune=confirm":                 "asks, delete, deleted, none",
		"Delete=confirm":                "asks, none, prune, pruned",
		"Prune=confirm, Delete=confirm": "asks, delete, deleted, none, prune, pruned",
	} {
		t.Run(options, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, files)
			w.application("web", "app", "\nsyncPolicy: {automated: {prune: true}, syncOptions: ["+options+"]}")
			if got := strings.ReplaceAll(toConfirm(w.inSync("web")), " Synced", ""); got != want {
				t.Errorf("a confirmation need %s, want %s", got, want)
			}
		})
	}
}

// TestAnApplicationsOptionForPruningIsForObjectsWithoutOne: as in Argo CD, Prune=false of the Application keeps no object with Prune=true, and what
// Prune=confirm holds goes when a person has confirmed it.
func TestAnApplicationsOptionForPruningIsForObjectsWithoutOne(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "stays", "none")+"-- app/own.yaml --\n"+configMapThatAsks("own", "Prune=true"))
	options := func(list string) {
		w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: ["+list+"]}")
	}
	options("Prune=false")
	w.inSync("web")
	w.repo.Remove("app/own.yaml")
	w.goes(configmaps, "own")
	w.repo.Remove("app/none.yaml")
	w.outOfSync("web")
	options("Prune=confirm")
	w.argoCondition("web", "SyncError", "none is not pruned without confirmation (sync option Prune=confirm)")
	if got := toConfirm(w.outOfSync("web")); got != "stays Synced, none OutOfSync" {
		t.Errorf("a confirmation need %s", got)
	}
	if !w.isThere(configmaps, "none") {
		t.Error("it was pruned without a confirmation")
	}
	w.annotate(applications, "web", "argocd.argoproj.io/deletion-approved", time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	w.goes(configmaps, "none")
	w.inSync("web")
}

// TestARequestedPruneWaitsForTheConfirmation that the Application asks for of all its objects.
func TestARequestedPruneWaitsForTheConfirmation(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "stays", "none"))
	w.application("web", "app", "\nsyncPolicy: {syncOptions: [Prune=confirm]}")
	if phase, message := w.order("web", `{"sync":{}}`); phase != "Succeeded" {
		t.Fatal(phase, message)
	}
	w.inSync("web")
	w.repo.Remove("app/none.yaml")
	w.outOfSync("web")
	if phase, message := w.order("web", `{"sync":{"prune":true}}`); phase != "Failed" || !strings.Contains(message, "none is not pruned without confirmation") {
		t.Errorf("a sync that prunes: %s %s", phase, message)
	}
	if !w.isThere(configmaps, "none") {
		t.Error("it was pruned without a confirmation")
	}
	w.annotate(applications, "web", "argocd.argoproj.io/deletion-approved", time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	if phase, message := w.order("web", `{"sync":{"prune":true}}`); phase != "Succeeded" {
		t.Errorf("a sync after the confirmation: %s %s", phase, message)
	}
	w.goes(configmaps, "none")
}

// TestAnApplicationsOptionForItsEndIsForObjectsWithoutOne: as in Argo CD, Delete=false of the Application keeps no object with Delete=true.
func TestAnApplicationsOptionForItsEndIsForObjectsWithoutOne(t *testing.T) {
	for _, options := range []string{"Delete=false", "Delete=confirm"} {
		t.Run(options, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, configMaps("app", "none")+"-- app/own.yaml --\n"+configMapThatAsks("own", "Delete=true")+
				"-- app/pruned.yaml --\n"+configMapThatAsks("pruned", "Prune=true"))
			w.application("web", "app", "\nsyncPolicy: {automated: {prune: true}, syncOptions: ["+options+"]}")
			w.inSync("web")
			w.kubectl("delete", "application.argoproj.io/web", "--timeout="+patience.String())
			for name, want := range map[string]bool{"none": true, "pruned": true, "own": false} {
				if w.isThere(configmaps, name) != want {
					t.Errorf("%s is there: %v", name, !want)
				}
			}
		})
	}
}
