package stories

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// counted counts the renders of a truce that no cache has answered.
type counted struct {
	render.Renderer
	n *atomic.Int32
}

func (c counted) Render(ctx context.Context, q render.Request) (render.Result, error) {
	res, err := c.Renderer.Render(ctx, q)
	if res.Rendered {
		c.n.Add(1)
	}
	return res, err
}

// afterAStart is what happens after a truce has started and found an app as the one before has left it.
type afterAStart struct {
	name    string
	app     string // further lines of the Kustomization
	down    func(*world)
	do      func(*world)
	renders int32 // of the truce that has started, before and after
	then    int32
}

var afterStarts = []afterAStart{
	{name: "nothing", do: func(w *world) { w.check("my-app") }},
	{name: "a commit that is about others", do: func(w *world) {
		w.repo.Commit(map[string]string{"README.md": "of all\n", "apps/other/map.yaml": "kind: none\n"}, "others")
		w.ready("my-app")
	}},
	{name: "a commit", then: 1, do: func(w *world) {
		w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
		w.ready("my-app")
		if got := image(w.get(deployments, "my-app")); got != "nginx:1.22.0" {
			w.t.Errorf("the image is %s", got)
		}
	}},
	{name: "a file less", then: 1, do: func(w *world) {
		w.repo.Remove("apps/my-app/map.yaml")
		w.until("the prune", func() bool { return w.kubectl("get", "configmap/mine", "--ignore-not-found") == "" })
		w.ready("my-app")
	}},
	{name: "drift", then: 1, do: func(w *world) {
		d := w.Watch(w.t, deployments, w.ns, "my-app")
		w.scaledBack(d, 5, 3)
		w.kubectl("delete", "configmap/mine")
		w.until("the ConfigMap", func() bool { return w.kubectl("get", "configmap/mine", "--ignore-not-found", "-o", "name") != "" })
		w.ready("my-app")
	}},
	{name: "an object is deleted", then: 1, do: func(w *world) {
		w.kubectl("delete", "configmap/mine")
		w.until("the ConfigMap", func() bool { return w.kubectl("get", "configmap/mine", "--ignore-not-found", "-o", "name") != "" })
	}},
	{name: "an autoscaler comes", then: 1, do: func(w *world) {
		w.Apply(w.t, strings.NewReplacer("NAMESPACE", w.ns, "minReplicas: 2", "minReplicas: 5").Replace(scalerOf("scaler", "Deployment", "my-app")))
		w.finds(w.ofFlux(), ".spec.replicas", func(f report.Finding) bool { return f.Verdict == decide.Cede })
	}},
	{name: "drift of an app that is suspended", then: 1, do: func(w *world) {
		w.suspend("my-app")
		w.kubectl("scale", "deployment/my-app", "--replicas=5")
		w.finds(w.ofFlux(), ".spec.replicas", func(report.Finding) bool { return true })
		w.kubectl("patch", "kustomization/my-app", "--type=merge", `-p={"spec":{"suspend":false}}`)
		w.until("the count of Git", func() bool { return w.count() == "3" })
	}},
	{name: "the app asks for something else", then: 1, do: func(w *world) {
		w.patch(kustomizations, "my-app", map[string]any{"spec": map[string]any{"commonMetadata": map[string]any{"labels": map[string]any{"team": "blue"}}}}, "kubectl-patch")
		w.until("the label", func() bool { return w.kubectl("get", "configmaps", "-l", "team=blue", "-o", "name") != "" })
	}},
	{name: "the app is deleted", do: func(w *world) {
		w.kubectl("delete", "kustomization/my-app")
		if left := w.kubectl("get", "deployments,configmaps", "-l", "truce.dev/part-of", "-o", "name"); left != "" {
			w.t.Errorf("it leaves %s", left)
		}
	}},
	{
		name: "the app asked for something else", renders: 1, then: 1,
		down: func(w *world) { w.annotate(kustomizations, "my-app", "truce.dev/claims", "off") },
		do:   func(w *world) { w.check("my-app") },
	},
	{
		name: "another writer wrote to the inventory", renders: 1, then: 1,
		down: func(w *world) {
			name := "truce-inventory-kustomization-my-app"
			text := w.kubectl("get", "configmap/"+name, "-o", `jsonpath={.data.inventory\.json}`)
			w.patch(configmaps, name, map[string]any{"data": map[string]any{"inventory.json": strings.Replace(text, `"size":2`, `"size":3`, 1)}}, "kubectl-patch")
		},
		do: func(w *world) { w.check("my-app") },
	},
	{name: "it was the work of another version", renders: 1, then: 1, down: func(w *world) {
		count := w.alter
		w.alter = func(e *reconcile.Engine) { count(e); e.Build = "v2" }
	}, do: func(*world) {}},
}

// TestAnAppThatHasNotChangedIsNotRenderedAfterAStart until one of its objects is to be compared; then all is as in a process that has rendered it.
func TestAnAppThatHasNotChangedIsNotRenderedAfterAStart(t *testing.T) {
	for _, c := range afterStarts {
		t.Run(c.name, func(t *testing.T) {
			w := offWorld(t, document3+"-- apps/my-app/map.yaml --\n"+configMap("mine"))
			var renders atomic.Int32
			w.alter = func(e *reconcile.Engine) { e.Render, e.Fresh = counted{e.Render, &renders}, counted{e.Fresh, &renders} }
			stop := w.start(policy.Policy{})
			w.app("my-app", "./apps/my-app", defaultSpec+c.app)
			w.ready("my-app")
			w.settles("my-app")
			stop()
			if c.down != nil {
				c.down(w)
			}
			renders.Store(0)
			w.start(policy.Policy{})
			t.Cleanup(w.removeApps) // before this truce ends
			w.check("my-app")
			w.ready("my-app")
			if n := renders.Load(); n != c.renders {
				t.Errorf("rendered %d times after the start, want %d", n, c.renders)
			}
			for _, o := range w.running.Engine.Report(w.ofFlux()).Objects {
				if o.File == "" || o.Line == 0 || !o.Applied || o.Health.Code == "" {
					t.Errorf("known of %s: %+v", o.ID, o)
				}
			}
			c.do(w)
			if n := renders.Load(); n != c.then {
				t.Errorf("rendered %d times, want %d", n, c.then)
			}
		})
	}
}

// TestAnApplicationThatHasNotChangedIsNotRenderedAfterAStart: its status is what it was.
func TestAnApplicationThatHasNotChangedIsNotRenderedAfterAStart(t *testing.T) {
	w := offArgoWorld(t, document3)
	var renders atomic.Int32
	w.alter = func(e *reconcile.Engine) { e.Render, e.Fresh = counted{e.Render, &renders}, counted{e.Fresh, &renders} }
	stop := w.start(policy.Policy{})
	w.application("my-app", "apps/my-app", automated)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	w.settles("my-app")
	was := w.getApplication("my-app")
	stop()
	renders.Store(0)
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("my-app")
	if n := renders.Load(); n != 0 {
		t.Errorf("rendered %d times after the start", n)
	}
	now := w.getApplication("my-app")
	for _, field := range []string{"resources", "summary", "sync", "health", "history"} {
		if a, b := asJSON(t, was.Object["status"].(map[string]any)[field]), asJSON(t, now.Object["status"].(map[string]any)[field]); a != b {
			t.Errorf("status.%s was %s\nand is %s", field, a, b)
		}
	}
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.until("the count of Git", func() bool { return w.count() == "3" })
	w.inSync("my-app")
}

// settles waits until the inventory of an app says how each of its objects was found to be as Git wants, and its Deployment is so still: the deployment
// controller's first annotation has come.
func (w *world) settles(name string) {
	w.t.Helper()
	w.until("the annotation", func() bool {
		return w.kubectl("get", "deployment/"+name, "-o", `jsonpath={.metadata.annotations.deployment\.kubernetes\.io/revision}`) != ""
	})
	if name := "Kustomization"; w.running.Engine.Report(appKeyOf(name, w.ns, "my-app")).Stage == report.Done {
		w.check("my-app")
	} else {
		w.refresh("my-app")
	}
	w.until("the inventory of "+name, func() bool {
		kinds := map[string]string{"Kustomization": "", "Application": ""}
		for kind := range kinds {
			key := appKeyOf(kind, w.ns, name)
			record, err := w.running.Engine.Inventory.Load(w.ctx, key)
			if err != nil || len(record.Entries) == 0 {
				continue
			}
			for _, e := range record.Entries {
				if e.Judged == "" {
					return false
				}
			}
			return record.Rendered != "" && w.running.Engine.InventoryPendingSince(key).IsZero()
		}
		return false
	})
}
