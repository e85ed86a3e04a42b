package stories

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/web"
)

// begun is a controller as its page shows it once it has begun.
type begun struct{ *controller.Controller }

func (begun) Ready() error { return nil }
func (begun) Note() string { return "" }

// page returns what the status page's list says of an app: Sync Unknown, Health Unknown, Message why.
func (w *world) page(name string) string {
	w.t.Helper()
	answer := httptest.NewRecorder()
	web.Handler(web.State{Controller: begun{w.running.Controller}}).ServeHTTP(answer, httptest.NewRequestWithContext(w.ctx, "GET", "/", nil))
	for row := range strings.SplitSeq(answer.Body.String(), "<tr>") {
		if !strings.Contains(row, ">"+name+"</a>") {
			continue
		}
		var out []string
		for _, m := range regexp.MustCompile(`data-of="(Sync|Health|Message)"[^>]*>([^<]*)<`).FindAllStringSubmatch(row, -1) {
			out = append(out, m[1]+" "+m[2])
		}
		return strings.Join(out, ", ")
	}
	return ""
}

// A refused app and a suspended one are called the same by kubectl, the list and the page, and a suspension is no failure. After a restart
// the drift of a suspended app is still seen, and nothing is written.
func TestARefusedAndASuspendedAppAreCalledTheSameEverywhere(t *testing.T) {
	w := offArgoWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.Apply(t, w.manifest("refused", "./apps/my-app", defaultSpec+"\ndecryption: {provider: sops, secretRef: {name: 'No Name'}}"))
	w.application("refused-too", "apps/my-app", automated+"\nsources: [{repoURL: x, chart: y, targetRevision: z}, {repoURL: x, chart: y, targetRevision: z}]")
	w.condition("refused", "Stalled", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	w.becomes("refused-too", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Unknown" && text(o, "status", "health", "status") == "Unknown"
	})

	w.suspend("my-app")
	w.until("the suspension to be seen", func() bool { return strings.HasPrefix(w.page("my-app"), "Sync Synced (suspended), ") })
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	const drift = "OutOfSync (suspended)"
	w.condition("my-app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	w.until("the drift to be on the page", func() bool { return strings.HasPrefix(w.page("my-app"), "Sync "+drift) })
	for _, e := range w.history("my-app") {
		if e.What == journal.Failed {
			t.Errorf("the journal tells of a failure: %s", e.Reason)
		}
	}

	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.until("the drift to be on the page after a restart", func() bool { return strings.HasPrefix(w.page("my-app"), "Sync "+drift) })
	w.until("the refused app to be on the page", func() bool {
		return strings.HasPrefix(w.page("refused"), "Sync Unknown, Health Unknown, Message spec.decryption")
	})
	w.until("the refused Application to be on the page", func() bool {
		return strings.HasPrefix(w.page("refused-too"), "Sync Unknown, Health Unknown, Message spec.source")
	})
	w.condition("my-app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	if n := len(w.writes("my-app")); n != 1 {
		t.Errorf("%d writes, want only the creation before the suspension", n)
	}

	run := w.truce()
	_, list := run("app", "list")
	for name, want := range map[string]string{
		"my-app": `OutOfSync \(suspended\)`, "refused": `Unknown +Unknown .*spec\.decryption`, "refused-too": `Unknown +Unknown .*spec\.source`,
	} {
		if !regexp.MustCompile(`(?m)^` + name + ` +` + want).MatchString(list) {
			t.Errorf("truce app list does not say %s of %s:\n%s", want, name, list)
		}
	}
	w.saysOf(run, 0, "app get my-app", drift+" (1 held)", "Hold: the app is suspended")
	w.saysOf(run, 1, "app diff my-app", "Hold: the app is suspended", "1 difference\n")
	if columns := w.kubectl("get", "applications.argoproj.io"); !regexp.MustCompile(`refused-too +Unknown +Unknown +spec\.source`).MatchString(columns) {
		t.Errorf("kubectl get applications:\n%s", columns)
	}
	if columns := w.kubectl("get", "kustomizations"); !regexp.MustCompile(`refused +\S+ +False +spec\.decryption`).MatchString(columns) {
		t.Errorf("kubectl get kustomizations:\n%s", columns)
	}
}

// TestAnAppThatDoesNotRenderHasTheSameHealthEverywhere breaks an app that works: what it has applied goes on to work.
func TestAnAppThatDoesNotRenderHasTheSameHealthEverywhere(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	run := w.truce()
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.until("the app to be healthy", func() bool { return strings.HasPrefix(w.page("my-app"), "Sync Synced, Health Healthy") })
	w.edit("apps/my-app/my-app.yaml", "kind: Deployment", "kind: [")
	w.until("the failure to be on the page", func() bool { return strings.HasPrefix(w.page("my-app"), "Sync Unknown, Health Healthy") })
	_, list := run("app", "list")
	if !regexp.MustCompile(`(?m)^my-app +Unknown +Healthy `).MatchString(list) {
		t.Errorf("truce app list:\n%s", list)
	}
	_, got := run("app", "get", "my-app")
	if !regexp.MustCompile(`(?m)^Health: +Healthy$`).MatchString(got) || !regexp.MustCompile(`(?m)^Revision: .* \(applied: .*\)$`).MatchString(got) {
		t.Errorf("truce app get:\n%s", got)
	}
}

// TestAnApplicationThatWasNeverSyncedWaits is about the words for objects that only a sync makes.
func TestAnApplicationThatWasNeverSyncedWaits(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", "")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	run := w.truce()
	w.saysOf(run, 0, "app get my-app", "Hold: no sync was requested", "1 held")
	w.saysOf(run, 1, "app diff my-app", "Hold: no sync was requested", "1 difference\n")
	w.saysOf(run, 0, "why deployment/my-app", "Hold: no sync was requested", "To have it made: truce app sync my-app -n "+w.ns)
	if _, said := run("app", "get", "my-app"); strings.Contains(said, "Correct") {
		t.Errorf("truce app get says that it is corrected:\n%s", said)
	}
	if got := w.happened("my-app", journal.Applied); len(got) > 0 {
		t.Errorf("the journal says that it was applied: %q", got)
	}
	w.saysOf(run, 0, "app sync my-app")
	if got := w.happened("my-app", journal.Applied); len(got) != 1 {
		t.Errorf("the journal says of a sync: %q", got)
	}
}
