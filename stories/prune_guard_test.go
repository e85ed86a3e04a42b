package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// manifests are the files app/NAME.yaml of the names.
func manifests(dir string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = dir + "/" + name + ".yaml"
	}
	return out
}

// moves are the ways in which all objects of an app leave Git without a commit that removes them.
var moves = map[string]struct {
	do   func(*world)
	says string
}{
	"another path":      {func(w *world) { w.respec("app", `{"path":"./other"}`) }, "the path has changed from app"},
	"another prefix":    {func(w *world) { w.respec("app", `{"namePrefix":"new-"}`) }, "8 of 8 objects"},
	"another namespace": {func(w *world) { w.respec("app", `{"targetNamespace":"`+w.Namespace(w.t)+`"}`) }, "the target namespace has changed"},
	"another repository": {func(w *world) {
		other := gittest.NewTxtar(w.t, strings.ReplaceAll(configMaps("app", "stranger"), "NAMESPACE", w.ns))
		w.repo = other
		w.kubectl("patch", "gitrepository/repo", "--type=merge", `-p={"spec":{"url":"`+other.URL+`"}}`)
	}, "the repository has changed"},
	"a history of its own": {func(w *world) {
		w.repo.ForcePush(w.inNamespace(gittest.Files(configMaps("app", "stranger"))), "unrelated")
	}, "the history has no common ancestor"},
}

func (w *world) respec(name, patch string) {
	w.t.Helper()
	w.kubectl("patch", "kustomization/"+name, "--type=merge", `-p={"spec":`+patch+`}`)
}

func TestAnAppThatBecomesAnotherPrunesNothingUnasked(t *testing.T) {
	t.Parallel()
	for what, c := range moves {
		t.Run(what, func(t *testing.T) {
			names := strings.Fields("a b c d e f g h")
			w := newWorld(t, policy.Policy{}, configMaps("app", names...)+configMaps("other", "o"))
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			c.do(w)
			token := w.heldPrune("app", "8 of 8 objects", c.says)
			w.check("app")
			if got := w.deletes(); len(got) > 0 {
				t.Fatalf("deleted without approval: %v", got)
			}
			w.kubectl("annotate", "kustomization/app", "truce.dev/approve-prune="+token)
			w.ready("app")
			if got := w.deletes(); len(got) != len(names) {
				t.Errorf("deleted %v, want %v", got, names)
			}
		})
	}
}

// TestASmallAppThatBecomesAnotherPrunesNothingUnasked: no number is too small where the identity has changed, after a restart too.
func TestASmallAppThatBecomesAnotherPrunesNothingUnasked(t *testing.T) {
	w := offWorld(t, configMaps("app", "a")+configMaps("other", "o"))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.respec("app", `{"path":"./other"}`)
	token := w.heldPrune("app", "1 of 1 objects", "the path has changed from app")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.check("app")
	if again := w.heldPrune("app", "1 of 1 objects", "the path has changed from app"); again != token {
		t.Errorf("after a restart the approval is %s, before %s", again, token)
	}
	w.respec("app", `{"path":"./app"}`) // as before: what has come meanwhile goes again
	w.ready("app")
	w.goes(configmaps, "o")
	if diff := cmp.Diff([]string{"configmaps o"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestSmallPrunesAreCountedTogether: three commits in a row take away what one may not, and a restart between them changes nothing.
func TestSmallPrunesAreCountedTogether(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("c%02d", i))
	}
	w := offWorld(t, configMaps("app", names...))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.repo.Remove(manifests("app", names[:10])...)
	w.ready("app")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.repo.Remove(manifests("app", names[10:20])...)
	w.heldPrune("app", "20 of 30 objects", "of which 10 are already")
	w.repo.Remove(manifests("app", names[20:29])...)
	token := w.heldPrune("app", "29 of 30 objects", "of which 10 are already")
	if got := w.deletes(); len(got) != 10 {
		t.Fatalf("%d objects were deleted, want those of the first commit: %v", len(got), got)
	}
	w.kubectl("annotate", "kustomization/app", "truce.dev/approve-prune="+token)
	w.ready("app")
	// What was approved does not count: an ordinary commit goes on.
	w.repo.Commit(w.inNamespace(gittest.Files(configMaps("app", "x", "y"))), "more")
	w.ready("app")
	w.repo.Remove("app/x.yaml")
	w.ready("app")
	w.goes(configmaps, "x")
	if got := w.deletes(); len(got) != 30 {
		t.Errorf("%d objects were deleted, want 30: %v", len(got), got)
	}
}

// TestThePolicyOfAnAppLowersOrLiftsTheGuard by its annotation.
func TestThePolicyOfAnAppLowersOrLiftsTheGuard(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j")
	w := newWorld(t, policy.Policy{}, configMaps("app", names...))
	w.app("app", "./app", defaultSpec)
	w.kubectl("annotate", "kustomization/app", "truce.dev/prune-guard=0")
	w.ready("app")
	w.repo.Remove("app/a.yaml")
	w.heldPrune("app", "1 of 10 objects")
	w.repo.Remove(manifests("app", names[1:9])...)
	w.heldPrune("app", "9 of 10 objects")
	w.kubectl("annotate", "--overwrite", "kustomization/app", "truce.dev/prune-guard=off")
	w.ready("app")
	if diff := cmp.Diff(9, len(w.deletes())); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	w.kubectl("annotate", "--overwrite", "kustomization/app", "truce.dev/prune-guard=many")
	w.fails("app", "truce.dev/prune-guard", "want off, or the number of objects", "many")
}

// TestTheCommandShowsAndApprovesAHeldPrune goes through what a person meets: nothing held, the list, no answer, the approval.
func TestTheCommandShowsAndApprovesAHeldPrune(t *testing.T) {
	names := strings.Fields("a b c d e f g h")
	w := newWorld(t, policy.Policy{}, configMaps("app", names...))
	run := w.truce()
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.saysOf(run, 1, "app approve-prune app -y", "no prune waits for approval")
	w.repo.Remove(manifests("app", names[:7])...)
	w.heldPrune("app", "7 of 8 objects", "run truce app approve-prune")
	w.saysOf(run, 0, "app get app", "no longer in Git: waits for approval, see truce app approve-prune")
	list := []string{"is about to delete 7 objects"}
	for _, name := range names[:7] {
		list = append(list, "ConfigMap "+w.ns+"/"+name)
	}
	w.saysOf(run, 2, "app approve-prune app", append(list, "add -y")...)
	if got := w.deletes(); len(got) > 0 {
		t.Fatalf("deleted without approval: %v", got)
	}
	w.saysOf(run, 0, "app approve-prune app -y", append(list, "prune approved")...)
	w.ready("app")
	if diff := cmp.Diff(7, len(w.deletes())); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
