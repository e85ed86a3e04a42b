package stories

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/app"
)

// exampleOfCharts reads examples/helm, with the story's namespaces for those of the example.
func (w *world) exampleOfCharts(shop string) map[string]string {
	w.t.Helper()
	names := strings.NewReplacer("namespace: flux-system", "namespace: "+w.ns, "targetNamespace: shop", "targetNamespace: "+shop)
	out, tree := map[string]string{}, os.DirFS(filepath.Join("..", "examples", "helm"))
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		out[path] = names.Replace(string(text))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// TestAnExampleOfCharts runs examples/helm: the platform's chart before the shop's, the shop under an autoscaler through a release by new values
// and one by a new chart, and drift that makes no revision.
func TestAnExampleOfCharts(t *testing.T) {
	w := offWorld(t, "-- none --\n")
	in := *w
	in.ns = w.Namespace(t)
	w.works = append(w.works, in.ns)
	w.repo.Commit(w.exampleOfCharts(in.ns), "charts")
	w.start(app.Policy{})
	limits := w.Watch(t, schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, in.ns, "platform")
	d := w.Watch(t, deployments, in.ns, "shop")
	w.app("main", "./clusters/main", defaultSpec)
	isReleased := func(revision, chart string) {
		t.Helper()
		w.helmCondition("shop", "Ready", func(c map[string]any) bool {
			return c["status"] == "True" && contains(c["message"], "release "+in.ns+"/shop.v"+revision+" with chart shop@"+chart)
		})
	}
	isReleased("1", "1.0.0")
	written := func(*unstructured.Unstructured) bool { return true }
	if first, then := writtenAt(t, limits, written), writtenAt(t, d, written); first >= then {
		t.Errorf("the LimitRange was written at %d, the Deployment at %d", first, then)
	}
	in.annotate(deployments, "shop", "sandbox.truce.dev/cpu-total", "395m")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	since := len(d.Values())

	w.edit("clusters/main/shop-values.yaml", "tag: 1.4.0", "tag: 1.5.0")
	w.edit("clusters/main/shop-values.yaml", "replicas: 3", "replicas: 4")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "registry.example.org/shop:1.5.0" })
	w.edit("charts/shop/templates/deployment.yaml", "  replicas: {{ .Values.replicas }}\n", "")
	w.edit("charts/shop/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.helmCondition("shop", "Ready", func(c map[string]any) bool {
		return c["status"] == "True" && contains(c["message"], "with chart shop@1.1.0")
	})
	w.always(d, since, func(o *unstructured.Unstructured) bool { return replicas(o) >= 8 })

	before := w.storedReleases("shop")
	in.byHand("shop", "REGION", "by hand")
	w.await(w.Watch(t, configmaps, in.ns, "shop"), func(o *unstructured.Unstructured) bool { return text(o, "data", "REGION") == "eu-west-1" })
	if got := w.storedReleases("shop"); got != before || !strings.HasSuffix(got, ":deployed") {
		t.Errorf("before the drift the releases were %s, now %s", before, got)
	}
}
