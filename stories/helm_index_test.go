package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnIndexThatIsMadeForEachRequestIsNoNews: Gitea writes the time into it and no digests. A look that finds nothing else has no Event, no new artifact and no
// archive that is downloaded again; a version that is pushed is found.
func TestAnIndexThatIsMadeForEachRequestIsNoNews(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r := charttest.New(t)
	r.MakeIndexes()
	r.Push("web", "1.0.0", webChart("1.0.0"))
	w.helmRepository("charts", "url: "+r.URL()+"\ninterval: 1h")
	w.releaseOf("web", "chart: web\nversion: 1.x\nsourceRef: {kind: HelmRepository, name: charts}")
	w.releaseSays("web", "True", "with chart web@1.0.0")
	first := text(w.get(helmRepositories, "charts"), "status", "artifact", "revision")
	for look := range 3 {
		at := fmt.Sprint("look ", look)
		w.annotate(helmRepositories, "charts", "reconcile.fluxcd.io/requestedAt", at)
		o := w.await(w.Watch(t, helmRepositories, w.ns, "charts"), func(o *unstructured.Unstructured) bool {
			return text(o, "status", "lastHandledReconcileAt") == at
		})
		if now := text(o, "status", "artifact", "revision"); now != first {
			t.Errorf("the index is %s after look %d, and was %s", now, look, first)
		}
	}
	if said := w.eventsOf("NewArtifact", "charts"); len(said) != 1 {
		t.Errorf("the Events of new artifacts: %v", said)
	}
	r.Push("web", "1.1.0", webChart("1.1.0"))
	w.annotate(helmRepositories, "charts", "reconcile.fluxcd.io/requestedAt", "pushed")
	w.releaseSays("web", "True", "with chart web@1.1.0")
	if all := strings.Join(r.Requests(), "\n"); strings.Count(all, "web-1.0.0.tgz 200") != 1 || strings.Count(all, "index.yaml 200") < 5 {
		t.Errorf("the requests: %s", all)
	}
}
