package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestACommitThatIsNotVerifiedDoesNotReplaceTheOneThatIs(t *testing.T) {
	w := offWorld(t, configMaps("app", "a", "b"))
	stop := w.run(compose.RunOptions{})
	key, person := gittest.NewPGPKey(t, 0), gittest.NewSSHKey(t)
	first := w.repo.SignHead(key)
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: %s}\nstringData: {team.asc: %q, person.sshpub: %q}", w.ns, key.Public, person.Public))
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1m\nref: {branch: main}\nverify: {mode: HEAD, secretRef: {name: keys}}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.ready("app")
	w.verified("True", "Succeeded", first+" with "+key.Name)
	a := w.Watch(t, configmaps, w.ns, "a")

	w.edit("app/a.yaml", `"k":"a"`, `"k":"forged"`)
	forged := w.repo.Remove("app/b.yaml")
	w.verified("False", "VerificationFailed", "commit "+forged+" has no signature")
	w.putBack(a, "a", "person", "a")
	w.reconciledAt("app", first)
	if !w.isThere(configmaps, "b") {
		t.Error("an object was pruned by a commit that is not verified")
	}

	// After a restart the last verified commit is at hand.
	stop()
	w.kubectl("patch", "configmap/a", "-p", `{"data":{"k":"by hand"}}`)
	w.run(compose.RunOptions{})
	t.Cleanup(w.removeApps)
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "a" })
	w.reconciledAt("app", first)
	w.verified("False", "VerificationFailed", "commit "+forged+" has no signature")

	w.repo.SignHead(gittest.NewSSHKey(t))
	w.verified("False", "VerificationFailed", "none of the trusted keys")
	signed := w.repo.SignHead(person)
	w.verified("True", "Succeeded", signed+" with "+person.Name)
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "forged" })
	w.goes(configmaps, "b")
	w.ready("app")
}

// TestATagThatHasMovedReplacesNothing that is verified, after a restart neither: its former object is not to be had then, so nothing is applied or pruned.
func TestATagThatHasMovedReplacesNothing(t *testing.T) {
	w := offWorld(t, configMaps("app", "a", "b"))
	stop := w.run(compose.RunOptions{})
	key := gittest.NewPGPKey(t, 0)
	w.repo.SignedTag("v1", w.repo.Head(), key)
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: %s}\nstringData: {team.asc: %q}", w.ns, key.Public))
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1m\nref: {tag: v1}\nverify: {mode: Tag, secretRef: {name: keys}}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	w.ready("app")
	w.verified("True", "Succeeded", key.Name)

	w.edit("app/a.yaml", `"k":"a"`, `"k":"moved"`)
	moved := w.repo.Remove("app/b.yaml")
	w.repo.Tag("v1", moved)
	w.verified("False", "VerificationFailed", "v1")
	stop()
	w.run(compose.RunOptions{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "after-the-restart")
	w.await(w.Watch(t, gitRepositories, w.ns, "repo"), func(o *unstructured.Unstructured) bool {
		return text(o, "status", "lastHandledReconcileAt") == "after-the-restart"
	})
	if a := w.get(configmaps, "a"); value(a, "k") != "a" || len(w.deletes()) > 0 {
		t.Errorf("a holds %q, and deleted were %v, by a tag that is not verified", value(a, "k"), w.deletes())
	}

	w.repo.SignedTag("v1", moved, key)
	w.ready("app")
	w.verified("True", "Succeeded", key.Name)
	w.goes(configmaps, "b")
	if a := w.get(configmaps, "a"); value(a, "k") != "moved" {
		t.Errorf("a holds %q", value(a, "k"))
	}
}

// verified waits until the story's GitRepository says of signatures what is wanted.
func (w *world) verified(status, reason, part string) {
	w.t.Helper()
	w.sourceCondition("repo", "SourceVerified", status, reason, part)
}

// sourceCondition waits until a condition of a GitRepository has a status, a reason, and a part in its message.
func (w *world) sourceCondition(name, kind, status, reason, part string) {
	w.t.Helper()
	last := ""
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("GitRepository %s: the last condition %s was: %s", name, kind, last)
		}
	})
	w.await(w.Watch(w.t, gitRepositories, w.ns, name), func(o *unstructured.Unstructured) bool {
		for _, c := range entries(o, "status", "conditions") {
			if c["type"] == kind {
				last = fmt.Sprint(c["status"], " ", c["reason"], ": ", c["message"])
				return c["status"] == status && c["reason"] == reason && strings.Contains(last, part)
			}
		}
		return false
	})
}

// reconciledAt asks for a full check of an app, and waits until it is Ready at a commit.
func (w *world) reconciledAt(name, commit string) {
	w.t.Helper()
	w.requests++
	token := fmt.Sprintf("check-%d", w.requests)
	w.annotate(kustomizations, name, "reconcile.fluxcd.io/requestedAt", token)
	w.condition(name, "Ready", func(c map[string]any, o *unstructured.Unstructured) bool {
		handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		return handled == token && c["status"] == "True" && strings.HasSuffix(applied, commit)
	})
}
