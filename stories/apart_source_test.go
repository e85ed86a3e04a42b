package stories

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestASourceOfANamespaceThatIsLeftIsFetchedByItsKeeperAlone(t *testing.T) {
	w := newClusterWorld(t, app.Policy{}, apartFiles)
	w.app("first", "./app", defaultSpec)
	w.ready("first")
	old := w.repo.Head()
	p := w.named()
	w.leaves(true)
	begin := time.Now()
	for _, what := range []string{"second", "third"} {
		w.repo.Commit(sharedAs(w.ns, what), what)
		w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", what)
		w.ready("first")
	}
	key := app.SourceKey{Kind: "GitRepository", Namespace: w.ns, Name: "repo"}
	if a, err := w.running.Controller.Artifact(key); err == nil && !strings.HasSuffix(a.Revision, old) {
		t.Errorf("the truce for the cluster has fetched %s for nobody", a.Revision)
	}

	// An app elsewhere that reads the source gets it, of this moment, from the truce that works for the app.
	elsewhere := w.Namespace(t)
	o := *w
	o.ns = elsewhere
	o.kustomization("reader", "repo, namespace: "+w.ns, "path: ./more\nprune: true\ntargetNamespace: "+elsewhere+"\ninterval: 1h")
	t.Cleanup(o.removeApps)
	o.ready("reader")
	w.repo.Commit(map[string]string{"more/new.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}\n"}, "for the reader")
	o.ready("reader")
	// It prunes, too: the apps of the namespace that is left are not waited for.
	news := o.Watch(t, configmaps, elsewhere, "new")
	o.await(news, func(*unstructured.Unstructured) bool { return true })
	w.repo.Remove("more/new.yaml")
	w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "fourth")
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	news.AwaitDeleted(ctx)
	o.ready("reader")
	w.ready("first")
	for _, written := range w.writesSince(begin) {
		t.Errorf("the truce for the cluster has written: %s", written)
	}

	// When the namespace comes back, it is what Git holds then that is applied, and nothing older.
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	w.repo.Commit(sharedAs(w.ns, "fourth"), "fourth")
	shared := w.Watch(t, configmaps, w.ns, "shared")
	w.kubectl("delete", "lease/truce-keeper")
	w.ready("first")
	for _, v := range shared.Values() {
		if got := value(v.Object, "k"); got != "third" && got != "fourth" {
			t.Errorf("an older revision was applied: %s", got)
		}
	}
	w.await(w.Watch(t, gitRepositories, w.ns, "repo"), func(o *unstructured.Unstructured) bool {
		revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
		return strings.HasSuffix(revision, w.repo.Head())
	})
}

func sharedAs(namespace, what string) map[string]string {
	return map[string]string{
		"app/shared.yaml": fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: %s}, data: {k: %s}}\n", namespace, what),
	}
}
