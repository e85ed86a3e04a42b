package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestBothDialectsGoBackToAnOlderRevision(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("flux", "f")+configMaps("argo", "a"))
	w.app("flux", "./flux", defaultSpec)
	w.application("argo", "argo", automated)
	w.ready("flux")
	w.inSync("argo")
	older := w.repo.Head()
	f, a := w.Watch(t, configmaps, w.ns, "f"), w.Watch(t, configmaps, w.ns, "a")
	w.edit("flux/f.yaml", `"k":"f"`, `"k":"new"`)
	w.edit("argo/a.yaml", `"k":"a"`, `"k":"new"`)
	w.await(f, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })

	// As `truce app rollback` writes it.
	w.kubectl("annotate", "kustomization/flux", "truce.dev/revision="+older)
	w.kubectl("patch", "application.argoproj.io/argo", "--type=merge", "-p",
		`{"spec":{"syncPolicy":{"automated":{"enabled":false}}},"operation":{"sync":{"revision":"`+older+`","prune":false}}}`)
	w.await(f, func(o *unstructured.Unstructured) bool { return value(o, "k") == "f" })
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "a" })
	w.outOfSync("argo")

	// Neither follows Git before it is let go.
	w.edit("flux/f.yaml", `"k":"new"`, `"k":"newest"`)
	w.edit("argo/a.yaml", `"k":"new"`, `"k":"newest"`)
	w.outOfSync("argo")
	if value(last(f), "k") != "f" || value(last(a), "k") != "a" {
		t.Errorf("f is %s, a is %s: they were held at the older revision", value(last(f), "k"), value(last(a), "k"))
	}
	w.kubectl("annotate", "kustomization/flux", "truce.dev/revision-")
	w.kubectl("patch", "application.argoproj.io/argo", "--type=merge", "-p", `{"spec":{"syncPolicy":{"automated":{"enabled":true}}}}`)
	w.await(f, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newest" })
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newest" })
	w.ready("flux")
	w.inSync("argo")
}

// TestAnApplicationIsPinnedByTheFirstDigitsOfACommit: as Argo CD takes them. The status has the whole hash.
func TestAnApplicationIsPinnedByTheFirstDigitsOfACommit(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a"))
	older := w.repo.Head()
	w.edit("app/a.yaml", `"k":"a"`, `"k":"new"`)
	a := w.Watch(t, configmaps, w.ns, "a")
	w.Apply(t, replace(t, w.applicationText("web", "app", automated), "targetRevision: main", "targetRevision: \""+older[:7]+"\""))
	t.Cleanup(w.removeApps)
	w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "sync", "revision") == older
	})
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "a" })
}
