package stories

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// TestAHeldFieldThatEndsSaysHow ends what a person has set in each way but a correction: the person puts it back, Git changes, the object
// goes, Git no longer has the object. What truce corrects in the end has one entry, the correction.
func TestAHeldFieldThatEndsSaysHow(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	const off = defaultSpec + "\nremediation: {remediate: false}"
	w.app("my-app", "./apps/my-app", off)
	w.ready("my-app")
	entries := func() (out []journal.Entry) {
		return slices.DeleteFunc(w.history("my-app"), func(e journal.Entry) bool { return e.Path != ".spec.replicas" })
	}
	seen := 0
	next := func(what journal.EntryKind, reason string) {
		t.Helper()
		w.until(string(what)+": "+reason, func() bool {
			all := entries()
			return len(all) > seen && all[len(all)-1].What == what && (reason == "" || all[len(all)-1].Reason == reason)
		})
		if n := len(entries()); n != seen+1 {
			t.Errorf("%d entries more, want 1: %+v", n-seen, entries())
		}
		seen = len(entries())
	}
	scale := func(n string) { w.kubectl("scale", "deployment/my-app", "--replicas="+n) }

	scale("5")
	next(journal.Held, "")
	scale("3")
	next(journal.Returned, "as Git wants again")
	if all := entries(); all[len(all)-1].Manager != "kubectl" {
		t.Errorf("the person who put it back is not named: %+v", all[len(all)-1])
	}
	scale("5")
	next(journal.Held, "")
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 5")
	next(journal.Ended, "Git has a new value")
	scale("6")
	next(journal.Held, "")
	w.edit("apps/my-app/my-app.yaml", "replicas: 5", "replicas: 4")
	next(journal.Ended, "Git has a new value")
	scale("6")
	next(journal.Held, "")
	w.kubectl("delete", "deployment/my-app")
	next(journal.Ended, "the object is gone")
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: true}")
	w.kubectl("wait", "--for=create", "deployment/my-app", "--timeout="+patience.String())
	w.ready("my-app")
	w.suspend("my-app")
	scale("6")
	next(journal.Held, "")
	w.kubectl("patch", "kustomization/my-app", "--type=merge", `-p={"spec":{"suspend":false}}`)
	next(journal.Corrected, "")
	w.app("my-app", "./apps/my-app", off)
	w.ready("my-app")
	scale("6")
	next(journal.Held, "")
	w.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rest, namespace: " + w.ns + "}\n"}, "no Deployment")
	next(journal.Ended, "Git no longer has the object")
}
