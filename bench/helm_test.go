package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

var helmReleases = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}

// BenchmarkHelmReleases measures many HelmReleases of one chart with four objects: their installs, from the start of the process until all are Ready,
// drift, upgrades, from the commit until all are Ready, and rest. The bare client applies the same objects, and the Secret of each release
// twice, as pending and as deployed.
func BenchmarkHelmReleases(b *testing.B) {
	truce := program(b)
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("releases=%d", n), func(b *testing.B) {
			for b.Loop() {
				releaseAll(b, truce, n)
			}
			b.ReportMetric(0, "ns/op") // includes the making of the world
		})
	}
}

func releaseAll(b *testing.B, truce string, n int) {
	x := startBox(b)
	x.apply(documents(b, fill(namespace, "shop", "")+"\n---\n"+fill(namespace, "bare", "")+"\n---\n"+fill(namespace, "bench", "")))
	repo := gittest.New(b, chartFiles("1.0.0", "hello"))
	x.apply(documents(b, helmResources(repo.Dir, n)))
	begin := time.Now()
	c := x.child(truce, "--claims=off") // disarms the breaker: the same few objects drift again and again
	x.await(helmReleases, "bench", n, isOfVersion("1.0.0"))
	install := time.Since(begin)

	d := &drifter{box: x, objects: n * oneIn, seen: x.watch(deployments, "shop"), bare: documents(b, fill(deployment, "bare", "bare"))[0]}
	reactions, applies := d.measure(b, drifts["image"])

	begin = time.Now()
	repo.Commit(chartFiles("1.1.0", "again"), "another version")
	x.await(helmReleases, "bench", n, isOfVersion("1.1.0"))
	upgrade := time.Since(begin)
	tree := float64(c.peak.Load()) / (1 << 20)
	cpu := c.stop()

	in := x.inside()
	in.run(x)
	in.quiet(x)
	in.requests.take()
	kubetest.Span(x.ctx, window) // rest is measured over a span of time, and nothing happens in it
	requests := total(in.requests.take())
	in.stop()

	bare := x.bareReleases(n)
	b.ReportMetric(install.Seconds(), "install-s")
	b.ReportMetric(upgrade.Seconds(), "upgrade-s")
	b.ReportMetric(bare.Seconds(), "bare-s")
	b.ReportMetric(ratio(install, bare), "install-ratio")
	b.ReportMetric(ratio(upgrade, bare), "upgrade-ratio")
	b.ReportMetric(cpu.Seconds(), "cpu-s")
	b.ReportMetric(tree, "tree-MiB")
	b.ReportMetric(float64(requests), "requests-at-rest")
	b.ReportMetric(ratio(reactions.quantile(0.5), applies.quantile(0.5)), "drift-p50-ratio")
	b.ReportMetric(milliseconds(reactions.quantile(0.5)), "drift-p50-ms")
	b.ReportMetric(milliseconds(reactions.quantile(0.99)), "drift-p99-ms")
}

// chartFiles are a chart of podinfo.
func chartFiles(version, message string) map[string]string {
	text := strings.Replace(fill(podinfo, "shop", "{{ .Release.Name }}"), "value: hello}", "value: {{ .Values.message }}}", 1)
	return map[string]string{
		"podinfo/Chart.yaml":         "{apiVersion: v2, name: podinfo, version: " + version + "}\n",
		"podinfo/values.yaml":        "message: " + message + "\n",
		"podinfo/templates/all.yaml": text,
	}
}

// releaseName is the name that drifter knows an object by.
func releaseName(i int) string { return fmt.Sprintf("o-%05d", i*oneIn) }

// helmResources are a GitRepository, and a HelmRelease for each release.
func helmResources(dir string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: bench}
spec: {url: "file://%s", interval: 1h, ref: {branch: main}}
`, dir)
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: bench}
spec:
  interval: 1h
  timeout: 30m
  releaseName: %[1]s
  targetNamespace: shop
  driftDetection: {mode: enabled}
  chart: {spec: {chart: podinfo, sourceRef: {kind: GitRepository, name: repo}}}
`, releaseName(i))
	}
	return b.String()
}

// isOfVersion reports whether a HelmRelease is Ready with a version of its chart.
func isOfVersion(version string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
		if len(list) == 0 || !ready(o) {
			return false
		}
		newest, _ := list[0].(map[string]any)
		return newest["chartVersion"] == version && newest["status"] == "deployed"
	}
}

// bareReleases is the bare client's time for the objects of the releases and their Secrets.
func (x *box) bareReleases(n int) time.Duration {
	x.b.Helper()
	var objects, pending, deployed []*unstructured.Unstructured
	for i := range n {
		objects = append(objects, documents(x.b, fill(podinfo, "bare", releaseName(i)))...)
	}
	list, err := x.dynamic.Resource(resources["Secret"]).Namespace("bench").List(x.ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	must(x.b, err)
	if len(list.Items) != n {
		x.b.Fatalf("there are %d deployed releases of %d", len(list.Items), n)
	}
	for i := range list.Items {
		o := bareCopy(&list.Items[i], "bare")
		first := o.DeepCopy()
		first.SetLabels(map[string]string{"status": "pending-install"})
		pending, deployed = append(pending, first), append(deployed, o)
	}
	return x.apply(pending) + x.apply(objects) + x.apply(deployed)
}
