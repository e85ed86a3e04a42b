package stories

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
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
// and one by a new chart, and drift that makes no revision. The charts are of the repository itself.
func TestAnExampleOfCharts(t *testing.T) {
	w, in := worldOfCharts(t)
	w.repo.Commit(w.exampleOfCharts(in.ns), "charts")
	w.runsCharts(in, "main", func() {
		w.edit("charts/shop/templates/deployment.yaml", withReplicas, "")
		w.edit("charts/shop/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	})
}

// TestAnExampleOfPublishedCharts runs the same charts of a Helm repository and of a registry: a version that is published there is a release, without a commit.
func TestAnExampleOfPublishedCharts(t *testing.T) {
	w, in := worldOfCharts(t)
	files := w.exampleOfCharts(in.ns)
	charts, registry := charttest.New(t), ocitest.New(t)
	charts.Push("platform", "1.0.0", chartOf(files, "platform"))
	publish := func(version string) {
		layer := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("shop", version, chartOf(files, "shop"))}
		registry.PushLayers("charts/shop", version, nil, layer)
	}
	publish("1.0.0")
	here := strings.NewReplacer("url: https://example.org/charts", "url: "+charts.URL(),
		"url: oci://registry.example.org/charts/shop", "insecure: true\n  url: "+registry.URL("charts/shop"), "interval: 10m", "interval: 1s")
	committed := maps.Clone(files)
	maps.DeleteFunc(committed, func(path, _ string) bool { return strings.HasPrefix(path, "charts/") })
	committed["clusters/published/sources.yaml"] = here.Replace(files["clusters/published/sources.yaml"])
	w.repo.Commit(committed, "releases")
	w.runsCharts(in, "published", func() {
		files["charts/shop/templates/deployment.yaml"] = strings.Replace(files["charts/shop/templates/deployment.yaml"], withReplicas, "", 1)
		files["charts/shop/Chart.yaml"] = strings.Replace(files["charts/shop/Chart.yaml"], "version: 1.0.0", "version: 1.1.0", 1)
		publish("1.1.0")
	})
}

// withReplicas is the line of the shop's template that the example's second version has no more.
const withReplicas = "  replicas: {{ .Values.replicas }}\n"

// chartOf returns the files of one of the charts, by their path in it.
func chartOf(files map[string]string, name string) map[string]string {
	out := map[string]string{}
	for path, text := range files {
		if inside, is := strings.CutPrefix(path, "charts/"+name+"/"); is {
			out[inside] = text
		}
	}
	return out
}

// worldOfCharts returns a world whose truce does not run yet, and the same world in the namespace of the shop.
func worldOfCharts(t *testing.T) (w, in *world) {
	t.Helper()
	w = offWorld(t, "-- none --\n")
	shop := *w
	shop.ns = w.Namespace(t)
	w.works = append(w.works, shop.ns)
	return w, &shop
}

// runsCharts installs the example's releases as a directory below clusters has them, and goes on to a version of the shop's chart without replicas.
func (w *world) runsCharts(in *world, directory string, publishWithoutReplicas func()) {
	t := w.t
	t.Helper()
	w.start(app.Policy{})
	limits := w.Watch(t, schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, in.ns, "platform")
	d := w.Watch(t, deployments, in.ns, "shop")
	w.app("main", "./clusters/"+directory, defaultSpec)
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

	values := "clusters/" + directory + "/shop-values.yaml"
	w.edit(values, "tag: 1.4.0", "tag: 1.5.0")
	w.edit(values, "replicas: 3", "replicas: 4")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "registry.example.org/shop:1.5.0" })
	publishWithoutReplicas()
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
