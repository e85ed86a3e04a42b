package stories

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartOfFailures has a hook after installs, upgrades and rollbacks, and two tests, each of which ends as the values say.
const chartOfFailures = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/other/Chart.yaml --
{apiVersion: v2, name: other, version: 1.0.0}
-- charts/other/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, data: {of: other}}
-- charts/web/values.yaml --
after: "0"
back: "0"
test: "0"
more: false
many: 0
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, data: {of: web}}
-- charts/web/templates/many.yaml --
{{- range until (int .Values.many) }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ $.Release.Name }}-{{ . }}"}}
{{- end }}
-- charts/web/templates/more.yaml --
{{- if .Values.more }}
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-there"}, data: {of: web}}
{{- end }}
-- charts/web/templates/hooks.yaml --
{{- range $name, $of := dict "after" (list "post-install,post-upgrade" .Values.after) "back" (list "post-rollback" .Values.back) "check" (list "test" .Values.test) "fine" (list "test" "0") }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ $name }}
  annotations: {helm.sh/hook: {{ first $of | quote }}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: {{ last $of | quote }}}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
{{- end }}
`

// TestWhatFollowsFailuresOfHelmsActions: the interval of all HelmReleases of the story is an hour.
func TestWhatFollowsFailuresOfHelmsActions(t *testing.T) {
	w := offWorld(t, chartOfFailures)
	w.tap = &tap{}
	w.start(policy.Policy{})
	for _, scene := range []struct {
		name string
		play func(*world)
	}{
		{"a filter leaves a test out", helmTestFilter},
		{"failed tests are counted, and the last failure is left", helmTestRetries},
		{"failed tests that are ignored are no failure", helmTestIgnored},
		{"what fails is tried again without a remedy", helmRetryOnFailure},
		{"a former hook changes while it is being deleted", helmRestlessHook},
		{"a request forgets the failures", helmReset},
		{"a request for another release has one more try", helmForcedTry},
		{"a process was killed before the former release was superseded", helmNotSuperseded},
		{"a remedy fails", helmFailedRemedy},
		{"what a failed upgrade has made is deleted, and nothing else", helmCleanup},
		{"what a failed rollback has made is deleted", helmRollbackCleanup},
		{"a prune that waits for approval does not keep a release from being deployed", helmHeldPrune},
		{"an object of others is not taken over", helmRefusesExisting},
		{"a chart of another name is installed again, or upgrades", helmRenamed},
		{"a release of another name takes the place of the former", helmMoved},
		{"a chart that is not there leaves the release as it is", helmNoChart},
		{"an uninstall leaves dependents", helmOrphans},
		{"an uninstall deletes dependents first", helmForeground},
	} {
		scene.play(w)
		if t.Failed() {
			t.Fatalf("in the scene: %s", scene.name)
		}
	}
}

// stalled waits until a HelmRelease is Stalled.
func (w *world) stalled(name string) {
	w.t.Helper()
	w.helmCondition(name, "Stalled", func(c map[string]any) bool { return c["status"] == "True" && c["reason"] == "RetriesExceeded" })
}

// wants changes the values of a HelmRelease.
func (w *world) wants(name string, values map[string]any) {
	w.t.Helper()
	w.patch(helmReleases, name, map[string]any{"spec": map[string]any{"values": values}}, "kubectl")
}

// looksAgain has a HelmRelease reconciled, and waits until it was.
func (w *world) looksAgain(name, token string) {
	w.t.Helper()
	w.annotate(helmReleases, name, "reconcile.fluxcd.io/requestedAt", token)
	w.await(w.Watch(w.t, helmReleases, w.ns, name), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == token })
}

func helmTestFilter(w *world) {
	w.release("filtered", "  values: {test: \"3\"}\n  test: {enable: true, filters: [{name: filtered-check, exclude: true}]}\n")
	w.helmCondition("filtered", "TestSuccess", func(c map[string]any) bool { return c["status"] == "True" })
	if w.isThere(jobs, "filtered-check") || !w.isThere(jobs, "filtered-fine") {
		w.t.Error("not the tests that are asked for have run")
	}
}

func helmTestRetries(w *world) {
	w.release("tested", "  values: {test: \"3\"}\n  test: {enable: true}\n  install: {remediation: {retries: 1}}\n")
	w.stalled("tested")
	o := w.get(helmReleases, "tested")
	if failures, _, _ := unstructured.NestedInt64(o.Object, "status", "installFailures"); failures != 2 || w.storedReleases("tested") != "1:deployed" {
		w.t.Errorf("%d failed installations, and stored: %s", failures, w.storedReleases("tested"))
	}
}

func helmTestIgnored(w *world) {
	w.release("ignored", "  values: {test: \"3\"}\n  test: {enable: true, ignoreFailures: true}\n")
	w.helmCondition("ignored", "TestSuccess", func(c map[string]any) bool { return c["status"] == "False" })
	w.released("ignored", 1, "1.0.0")
	if _, counted, _ := unstructured.NestedInt64(w.get(helmReleases, "ignored").Object, "status", "installFailures"); counted {
		w.t.Error("it is counted")
	}
}

func helmHeldPrune(w *world) {
	w.release("held", "  values: {many: 9}\n")
	w.released("held", 1, "1.0.0")
	w.wants("held", map[string]any{"many": 0})
	w.helmCondition("held", "Ready", func(c map[string]any) bool { return c["status"] == "False" && c["reason"] == "PruneHeld" })
	w.looksAgain("held", "again") // no new release is brought out
	held := w.helmCondition("held", "Ready", func(c map[string]any) bool { return c["status"] == "False" && c["reason"] == "PruneHeld" })
	if got := w.storedReleases("held"); got != "1:superseded 2:deployed" || !w.isThere(configmaps, "held-8") {
		w.t.Errorf("stored: %s", got)
	}
	token := regexp.MustCompile(`truce\.dev/approve-prune=(\w+)`).FindStringSubmatch(fmt.Sprint(held.Object["status"]))
	w.kubectl("annotate", "helmrelease/held", "truce.dev/approve-prune="+token[1])
	w.goes(configmaps, "held-8")
	w.released("held", 2, "1.0.0")
}

func helmRetryOnFailure(w *world) {
	w.release("retried", "  values: {after: \"3\"}\n  install: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n  upgrade: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n")
	w.until("it is tried three times", func() bool { return strings.HasPrefix(w.storedReleases("retried"), "1:failed 2:failed 3:") })
	w.wants("retried", map[string]any{"after": "0"})
	o := w.helmCondition("retried", "Ready", func(c map[string]any) bool { return c["status"] == "True" && c["reason"] == "UpgradeSucceeded" })
	history := entries(o, "status", "history")
	for i, h := range history { // as far back as Flux keeps them, each release, however soon another one followed
		if newest, _ := history[0]["version"].(int64); h["version"] != newest-int64(i) || h["chartVersion"] != "1.0.0" {
			w.t.Errorf("status.history has at %d: %v", i, h)
		}
	}
	if len(history) < 2 {
		w.t.Error("status.history has not the release that worked before")
	}
}

// helmRestlessHook writes to the former object of a hook before each of the first requests to delete it, which the server refuses for that.
func helmRestlessHook(w *world) {
	w.release("restless", "")
	w.released("restless", 1, "1.0.0")
	refused := 0
	w.tap.set(func(r *http.Request) *http.Response {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/jobs/restless-after") && refused < 7 {
			refused++
			w.annotate(jobs, "restless-after", "stories.truce.dev/written", fmt.Sprint(refused))
		}
		return nil
	})
	defer w.tap.set(nil)
	w.wants("restless", map[string]any{"more": true})
	w.released("restless", 2, "1.0.0")
	if refused < 7 {
		w.t.Errorf("the former hook was written to %d times, not 7", refused)
	}
}

func helmReset(w *world) {
	w.release("reset", "  values: {after: \"3\"}\n")
	w.stalled("reset")
	w.looksAgain("reset", "look")
	if got := w.storedReleases("reset"); got != "1:failed" {
		w.t.Errorf("without a reset the releases are %s", got)
	}
	w.patch(helmReleases, "reset", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"reconcile.fluxcd.io/requestedAt": "reset", "reconcile.fluxcd.io/resetAt": "reset",
	}}}, "kubectl")
	w.until("it is tried once more", func() bool { return w.storedReleases("reset") == "1:failed 2:failed" })
	w.await(w.Watch(w.t, helmReleases, w.ns, "reset"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledResetAt") == "reset" })
	w.stalled("reset")
}

// helmForcedTry: no retry is left, and flux reconcile helmrelease --force asks for one.
func helmForcedTry(w *world) {
	w.release("tried", "  upgrade: {remediation: {remediateLastFailure: true}}\n")
	w.released("tried", 1, "1.0.0")
	w.wants("tried", map[string]any{"after": "3"})
	w.stalled("tried")
	w.patch(helmReleases, "tried", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"reconcile.fluxcd.io/requestedAt": "force", "reconcile.fluxcd.io/forceAt": "force",
	}}}, "kubectl")
	const want = "1:superseded 2:failed 3:superseded 4:failed 5:deployed"
	w.until("it is tried once more, and remedied", func() bool { return w.storedReleases("tried") == want })
	w.stalled("tried")
	w.looksAgain("tried", "look")
	if got := w.storedReleases("tried"); got != want {
		w.t.Errorf("one request has made the releases %s", got)
	}
}

// helmNotSuperseded: the two Secrets cannot be written at once, and stock helm takes what is deployed for what it goes back to.
func helmNotSuperseded(w *world) {
	w.release("two", "")
	w.released("two", 1, "1.0.0")
	w.wants("two", map[string]any{"more": true})
	w.released("two", 2, "1.0.0")
	w.kubectl("label", "--overwrite", "secret/sh.helm.release.v1.two.v1", "status=deployed")
	w.looksAgain("two", "look")
	if got := w.storedReleases("two"); got != "1:superseded 2:deployed" {
		w.t.Errorf("stored: %s", got)
	}
}

func helmFailedRemedy(w *world) {
	w.release("worse", "  values: {back: \"3\"}\n  upgrade: {remediation: {remediateLastFailure: true}}\n")
	w.released("worse", 1, "1.0.0")
	w.wants("worse", map[string]any{"after": "3"})
	w.helmCondition("worse", "Remediated", func(c map[string]any) bool {
		return c["status"] == "False" && c["reason"] == "RollbackFailed" && contains(c["message"], "worse-back")
	})
	w.helmCondition("worse", "Ready", func(c map[string]any) bool { return c["status"] == "False" && c["reason"] == "RollbackFailed" })
	if got := w.storedReleases("worse"); !strings.HasPrefix(got, "1:") || !strings.HasSuffix(got, " 2:failed 3:failed") {
		w.t.Errorf("the releases are %s", got)
	}
}

func helmCleanup(w *world) {
	w.release("cleaned", "  upgrade: {cleanupOnFail: true}\n  driftDetection: {mode: enabled}\n")
	w.released("cleaned", 1, "1.0.0")
	w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: cleaned-there, namespace: %s}}", w.ns))
	w.until("a second has passed on the API server", w.secondPasses("cleaned-there"))
	w.wants("cleaned", map[string]any{"after": "3", "more": true})
	w.stalled("cleaned")
	w.goes(configmaps, "cleaned-more")
	w.looksAgain("cleaned", "look")
	if w.isThere(configmaps, "cleaned-more") || !w.isThere(configmaps, "cleaned-there") || !w.isThere(configmaps, "cleaned") {
		w.t.Error("it is not that which the upgrade has made that was deleted")
	}
	if got := w.storedReleases("cleaned"); !strings.HasSuffix(got, " 2:failed") {
		w.t.Errorf("the releases are %s", got)
	}
	w.wants("cleaned", map[string]any{"after": "0", "more": true})
	w.exists(configmaps, "cleaned-more")
}

// helmRollbackCleanup: the upgrade takes an object out of the release, and the rollback, which fails, makes it again.
func helmRollbackCleanup(w *world) {
	w.release("undone", "  values: {more: true, back: \"3\"}\n  upgrade: {remediation: {remediateLastFailure: true}}\n  rollback: {cleanupOnFail: true}\n")
	w.released("undone", 1, "1.0.0")
	uid := w.get(configmaps, "undone-more").GetUID()
	w.wants("undone", map[string]any{"more": false, "after": "3", "back": "3"})
	w.helmCondition("undone", "Remediated", func(c map[string]any) bool { return c["status"] == "False" && c["reason"] == "RollbackFailed" })
	w.looksAgain("undone", "look")
	if w.isThere(configmaps, "undone-more") || !w.isThere(configmaps, "undone") {
		w.t.Errorf("it is not that which the rollback has made that was deleted (it was %s)", uid)
	}
}

// secondPasses reports whether what is created now has another time than an object.
func (w *world) secondPasses(than string) func() bool {
	of := w.get(configmaps, than).GetCreationTimestamp()
	probes := 0
	return func() bool {
		probes++
		at := w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe-%d, namespace: %s}}", probes, w.ns))[0].GetCreationTimestamp()
		return of.Before(&at)
	}
}

func helmRefusesExisting(w *world) {
	w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: polite, namespace: %s}, data: {of: people}}", w.ns))
	w.release("polite", "  install: {disableTakeOwnership: true}\n")
	w.helmFails("polite", "is there already and is not of release "+w.ns+"/polite")
	if got := text(w.get(configmaps, "polite"), "data", "of") + w.storedReleases("polite"); got != "people" {
		w.t.Errorf("it was taken over: %s", got)
	}
	w.delete(configmaps, w.ns, "polite")
	w.annotate(helmReleases, "polite", "reconcile.fluxcd.io/requestedAt", "gone")
	w.released("polite", 1, "1.0.0")
}

func helmRenamed(w *world) {
	w.release("renamed", "")
	w.release("inplace", "  upgrade: {chartNameChangeStrategy: InPlaceUpdate}\n")
	for name, revision := range map[string]int{"renamed": 1, "inplace": 2} {
		w.released(name, 1, "1.0.0")
		before := w.get(configmaps, name).GetUID()
		w.patch(helmReleases, name, map[string]any{"spec": map[string]any{"chart": map[string]any{"spec": map[string]any{"chart": "charts/other"}}}}, "kubectl")
		w.helmCondition(name, "Ready", func(c map[string]any) bool {
			return c["status"] == "True" && contains(c["message"], fmt.Sprintf("release %s/%s.v%d with chart other@1.0.0", w.ns, name, revision))
		})
		if o := w.get(configmaps, name); text(o, "data", "of") != "other" || (o.GetUID() == before) != (revision == 2) {
			w.t.Errorf("%s: the object is %v, and was %s", name, o.Object, before)
		}
	}
}

// helmMoved: also when the HelmRelease is deleted before the next one is installed.
func helmMoved(w *world) {
	for _, name := range []string{"moved", "leaves"} {
		w.release(name, "")
		w.released(name, 1, "1.0.0")
	}
	w.patch(helmReleases, "moved", map[string]any{"spec": map[string]any{"releaseName": "next"}}, "kubectl")
	w.helmCondition("moved", "Ready", func(c map[string]any) bool {
		return c["status"] == "True" && contains(c["message"], "release "+w.ns+"/next.v1 with chart web@1.0.0")
	})
	if was, is := w.storedReleases("moved"), w.storedReleases("next"); was != "" || is != "1:deployed" {
		w.t.Errorf("stored are %q of the former name, and %q of the next", was, is)
	}
	if w.get(configmaps, "moved") != nil || w.get(configmaps, "next") == nil {
		w.t.Error("the objects are not those of the next release")
	}
	w.patch(helmReleases, "leaves", map[string]any{"spec": map[string]any{"releaseName": "never"}}, "kubectl")
	w.delete(helmReleases, w.ns, "leaves")
	w.until("the HelmRelease is gone", func() bool { return w.get(helmReleases, "leaves") == nil })
	if was, is := w.storedReleases("leaves"), w.storedReleases("never"); was+is != "" {
		w.t.Errorf("stored are %q of the former name, and %q of the next", was, is)
	}
}

func helmNoChart(w *world) {
	w.release("none", "")
	w.released("none", 1, "1.0.0")
	chart := func(path string) {
		w.patch(helmReleases, "none", map[string]any{"spec": map[string]any{"chart": map[string]any{"spec": map[string]any{"chart": path}}}}, "kubectl")
	}
	chart("charts/none")
	w.helmCondition("none", "Ready", func(c map[string]any) bool {
		return c["status"] == "False" && c["reason"] == "SourceNotReady" && contains(c["message"], "render charts/none: the path does not exist in this revision")
	})
	w.helmCondition("none", "Released", func(c map[string]any) bool { return c["status"] == "True" && c["reason"] == "InstallSucceeded" })
	chart("charts/web")
	w.released("none", 1, "1.0.0")
}

func helmOrphans(w *world) {
	w.release("orphans", "  uninstall: {deletionPropagation: orphan}\n")
	w.released("orphans", 1, "1.0.0")
	w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: child, namespace: %s, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: orphans, uid: %s}]}}",
		w.ns, w.get(configmaps, "orphans").GetUID()))
	w.delete(helmReleases, w.ns, "orphans")
	w.goes(configmaps, "orphans")
	w.await(w.Watch(w.t, configmaps, w.ns, "child"), func(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 0 })
}

// helmForeground: an object stays until its dependent is gone, which a finalizer holds.
func helmForeground(w *world) {
	w.release("first", "  uninstall: {deletionPropagation: foreground}\n")
	w.released("first", 1, "1.0.0")
	w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: last, namespace: %s, finalizers: [stories.truce.dev/hold], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: first, uid: %s, blockOwnerDeletion: true}]}}",
		w.ns, w.get(configmaps, "first").GetUID()))
	w.delete(helmReleases, w.ns, "first")
	w.terminates("last")
	if o := w.get(configmaps, "first"); o == nil || !slices.Contains(o.GetFinalizers(), "foregroundDeletion") {
		w.t.Errorf("the object is not deleted behind its dependent: %v", o)
	}
	w.removeFinalizers("last")
	w.until("the object is gone behind its dependent", func() bool { return w.get(configmaps, "first") == nil })
}
