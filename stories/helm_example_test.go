package stories

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// chartsExample is examples/helm, in namespaces of the story's own.
type chartsExample struct {
	*world
	shop  *world            // the same, with the namespace of the releases' objects
	files map[string]string // of the example, by path
}

func newChartsExample(t *testing.T) chartsExample {
	t.Helper()
	w := offWorld(t, "-- none --\n")
	in := *w
	in.ns = w.Namespace(t)
	w.works = append(w.works, in.ns)
	e := chartsExample{world: w, shop: &in, files: map[string]string{}}
	names := strings.NewReplacer("namespace: flux-system", "namespace: "+w.ns, "targetNamespace: shop", "targetNamespace: "+in.ns)
	tree := os.DirFS(filepath.Join("..", "examples", "helm"))
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		e.files[path] = names.Replace(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// replace changes a text that a file of the example must have. It makes no commit.
func (e chartsExample) replace(path, before, after string) {
	e.t.Helper()
	if !strings.Contains(e.files[path], before) {
		e.t.Fatalf("%s does not contain %q", path, before)
	}
	e.files[path] = strings.ReplaceAll(e.files[path], before, after)
}

// isReleased waits until the stored release of that number is Ready, of a chart NAME@VERSION.
func (e chartsExample) isReleased(revision, chart string) {
	e.t.Helper()
	name, _, _ := strings.Cut(chart, "@")
	e.releaseSays(name, "True", "release "+e.shop.ns+"/"+name+".v"+revision+" with chart "+chart)
}

// runs is the story of one of the example's clusters, of which the first charts are given: the platform's chart before the shop's, the shop under an
// autoscaler through a release by new values and one by the chart that newChart brings out, and drift that makes no revision.
func (e chartsExample) runs(cluster, platform, shop string, newChart func() string) {
	t, w, in := e.t, e.world, e.shop
	t.Helper()
	w.start(policy.Policy{})
	limits := w.Watch(t, schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, in.ns, "platform")
	d := w.Watch(t, deployments, in.ns, "shop")
	w.app("main", cluster, defaultSpec)
	e.isReleased("1", platform)
	e.isReleased("1", shop)
	written := func(*unstructured.Unstructured) bool { return true }
	if first, then := writtenAt(t, limits, written), writtenAt(t, d, written); first >= then {
		t.Errorf("the LimitRange was written at %d, the Deployment at %d", first, then)
	}
	in.annotate(deployments, "shop", "sandbox.truce.dev/cpu-total", "395m")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	since := len(d.Values())

	w.edit("releases/shop-values.yaml", "tag: 1.4.0", "tag: 1.5.0")
	w.edit("releases/shop-values.yaml", "replicas: 3", "replicas: 4")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "registry.example.org/shop:1.5.0" })
	w.releaseSays("shop", "True", " with chart "+newChart())
	w.always(d, since, func(o *unstructured.Unstructured) bool { return replicas(o) >= 8 })

	before := w.storedReleases("shop")
	in.byHand("shop", "REGION", "by hand")
	w.await(w.Watch(t, configmaps, in.ns, "shop"), func(o *unstructured.Unstructured) bool { return text(o, "data", "REGION") == "eu-west-1" })
	if got := w.storedReleases("shop"); got != before || !strings.HasSuffix(got, ":deployed") {
		t.Errorf("before the drift the releases were %s, now %s", before, got)
	}
}

const (
	countOfTheShop = "  replicas: {{ .Values.replicas }}\n"
	shopDeployment = "charts/shop/templates/deployment.yaml"
)

// TestAnExampleOfCharts runs examples/helm with its charts in Git: a commit brings out a chart.
func TestAnExampleOfCharts(t *testing.T) {
	e := newChartsExample(t)
	e.repo.Commit(e.files, "charts")
	e.runs("./clusters/main", "platform@1.0.0", "shop@1.0.0", func() string {
		e.edit(shopDeployment, countOfTheShop, "")
		e.edit("charts/shop/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
		return "shop@1.1.0"
	})
}

// TestAnExampleOfPublishedCharts runs examples/helm with charts of a Helm repository and of a registry, and none in Git: a version that is published is
// released without a commit if it is in the range, and can be previewed if it is not.
func TestAnExampleOfPublishedCharts(t *testing.T) {
	e := newPublishedExample(t)
	platform, shop := e.publish("platform", "1.0.0"), e.publish("shop", "1.0.0")
	e.runs("./clusters/published", platform, shop, func() string {
		e.replace("charts/platform/values.yaml", "cpu: 50m", "cpu: 60m")
		e.replace(shopDeployment, countOfTheShop, "")
		e.publish("platform", "2.0.0")
		e.publish("shop", "2.0.0")
		e.saysOf(e.truce(), 0, "diff helmrelease shop --revision 2.0.0", "of chart shop@2.0.0+")
		e.saysOf(e.shop.truce(), 0, "why configmap/shop .data.REGION", "spec.values.settings.region (releases/shop.yaml:")
		e.isReleased("2", e.publish("platform", "1.1.0"))
		return e.publish("shop", "1.1.0")
	})
}

// publishedExample is the example with the servers that its cluster "published" reads. Its repository has no chart.
type publishedExample struct {
	chartsExample
	charts   *charttest.Repository
	registry *ocitest.Registry
}

func newPublishedExample(t *testing.T) publishedExample {
	t.Helper()
	e := publishedExample{newChartsExample(t), charttest.New(t), ocitest.New(t)}
	const sources = "clusters/published/sources.yaml"
	e.replace(sources, "https://charts.example.org", e.charts.URL())
	e.replace(sources, "url: oci://registry.example.org/charts/shop", "insecure: true\n  url: "+e.registry.URL("charts/shop"))
	e.replace(sources, "interval: 5m", "interval: 1s")
	files := maps.Clone(e.files)
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, "charts/") })
	e.repo.Commit(files, "no charts")
	return e
}

var chartVersion = regexp.MustCompile(`(?m)^version: .*$`)

// publish packages a chart of the example as a version, and returns the name by which its releases are known: after the version of an OCIRepository's chart
// comes the digest.
func (e publishedExample) publish(name, version string) string {
	files, dir := map[string]string{}, "charts/"+name+"/"
	for path, text := range e.files {
		if below, is := strings.CutPrefix(path, dir); is {
			files[below] = text
		}
	}
	files["Chart.yaml"] = chartVersion.ReplaceAllString(files["Chart.yaml"], "version: "+version)
	if name == "platform" {
		e.charts.Push(name, version, files)
		return name + "@" + version
	}
	layer := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package(name, version, files)}
	digest := strings.TrimPrefix(e.registry.PushLayers("charts/"+name, version, nil, layer), "sha256:")
	return name + "@" + version + "+" + digest[:12]
}
