package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestACommitThatIsAboutOthersIsNoOperation: an automated sync of Argo CD begins when the Application is OutOfSync. A commit elsewhere in the repository
// runs no hooks and makes no history, after a restart neither, when it is only known from the cluster what was applied.
func TestACommitThatIsAboutOthersIsNoOperation(t *testing.T) {
	const secret = `
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {k: first}
`
	ending := func(text string) string { return strings.ReplaceAll(text, "  managedBy: stories.truce.dev/hand\n", "") }
	config := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {\"k\":\"web\"}\n"
	}
	files := config("web") + secret + ending(jobHook("before", "argocd.argoproj.io/hook: PreSync", "1"))
	w := offArgoWorld(t, "-- app/all.yaml --\n"+files+"-- other/a.yaml --\n"+config("other"))
	stop := w.start(policy.Policy{})
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true}}")
	o := w.inSync("web")
	var ran types.UID
	check := func(what string, operations int) {
		t.Helper()
		o = w.inSync("web")
		if n := len(entries(o, "status", "history")); n != operations {
			t.Errorf("%s: the history has %d entries, want %d", what, n, operations)
		}
		now := w.exists(jobs, "before").GetUID()
		if again := ran != "" && now != ran; again != (operations > 1) {
			t.Errorf("%s: the hook has run again: %t", what, again)
		}
	}
	check("the first sync", 1)
	ran = w.exists(jobs, "before").GetUID()
	deployed := text(o, "status", "operationState", "syncResult", "revision")

	w.repo.Commit(map[string]string{"other/a.yaml": config("another")}, "about others")
	check("a commit about others", 1)
	stop()
	w.repo.Commit(map[string]string{"other/a.yaml": config("a-third")}, "about others again")
	stop = w.start(policy.Policy{})
	check("a restart, and another", 1)
	if now := text(o, "status", "operationState", "syncResult", "revision"); now != deployed {
		t.Errorf("the operation is said to be of %s, want %s", now, deployed)
	}

	// Of what a Secret holds, no digest is kept: the cluster says whether it changes.
	w.repo.Commit(map[string]string{"app/all.yaml": replace(t, files, "k: first", "k: second")}, "another key")
	check("a commit that changes a Secret", 2)
	ran = w.exists(jobs, "before").GetUID()

	// Without self-heal drift waits for the next revision, whatever that is about.
	w.kubectl("patch", "configmap", "web", "--type=merge", "-p", `{"data":{"k":"drift"}}`)
	w.outOfSync("web")
	w.repo.Commit(map[string]string{"other/a.yaml": config("a-fourth")}, "about others")
	check("drift, and a commit about others", 3)

	// What is described otherwise before a start is brought out after it.
	stop()
	ran = w.exists(jobs, "before").GetUID()
	w.repo.Commit(map[string]string{"app/all.yaml": replace(t, files, `"k":"web"`, `"k":"two"`)}, "two")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	check("a change while no controller ran", 4)
}
