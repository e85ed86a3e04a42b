package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/s3test"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var helmRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "helmrepositories"}

var helmCharts = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "helmcharts"}

// webChart is a chart of one ConfigMap that says of which version and values it is.
func webChart(version string) map[string]string {
	return map[string]string{
		"values.yaml":       "from: values\n",
		"values-prod.yaml":  "from: prod\n",
		"templates/cm.yaml": configMapOf("{{ .Release.Name }}", version+" {{ .Values.from }}"),
	}
}

// helmRepository creates a HelmRepository with the lines of its spec, and the Secret login.
func (w *world) helmRepository(name, spec string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: %s}\nstringData: {username: robot, password: %q}\n", w.ns, password))
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	w.Apply(w.t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: %s, namespace: %s}\nspec:\n  secretRef: {name: login}\n  %s\n", name, w.ns, indented))
}

// releaseOf creates a HelmRelease with the lines of spec.chart.spec.
func (w *world) releaseOf(name, chart string) {
	w.t.Helper()
	indented := strings.ReplaceAll(strings.TrimSpace(chart), "\n", "\n      ")
	w.Apply(w.t, fmt.Sprintf("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: %s, namespace: %s}\nspec:\n  interval: 1h\n  chart:\n    spec:\n      %s\n", name, w.ns, indented))
	w.t.Cleanup(w.removeApps)
}

// releaseSays waits until the Ready condition of a HelmRelease has a status and says something.
func (w *world) releaseSays(name, status, text string) {
	w.t.Helper()
	w.helmCondition(name, "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["status"] == status && strings.Contains(message, text)
	})
}

// TestAChartOfAHelmRepositoryIsFollowed pushes versions: the highest of the range is installed. Each fault of the repository is on the HelmRepository and
// on the HelmReleases that read it, and takes nothing away.
func TestAChartOfAHelmRepositoryIsFollowed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r := charttest.New(t)
	r.Demand("robot", password)
	r.Push("web", "1.0.0", webChart("1.0.0"))
	r.Push("web", "2.0.0-rc.1", webChart("2.0.0-rc.1"))
	w.helmRepository("charts", "url: "+r.URL()+"\ninterval: 1s")
	w.releaseOf("web", "chart: web\nversion: 1.x\nvaluesFiles: [values-prod.yaml, absent.yaml]\nignoreMissingValuesFiles: true\nsourceRef: {kind: HelmRepository, name: charts}")
	w.releaseOf("other", "chart: other\nsourceRef: {kind: HelmRepository, name: charts}")
	w.releaseSays("web", "True", "with chart web@1.0.0")
	w.mapSays("web", "1.0.0 prod")
	w.releaseSays("other", "False", "the index has no chart of that name")
	if code, out := w.command("diff", "helmrelease", "web", "--version", "2.0.0-rc.1"); code != 1 || !strings.Contains(out, "would be made (upgrade), of chart web@2.0.0-rc.1") {
		t.Errorf("truce diff --version: exit code %d, %s", code, out)
	}

	r.Push("web", "1.1.0", webChart("1.1.0"))
	r.Push("other", "0.1.0", webChart("0.1.0"))
	w.releaseSays("web", "True", "with chart web@1.1.0")
	w.releaseSays("other", "True", "with chart other@0.1.0")
	w.mapSays("web", "1.1.0 prod")
	if o := w.sourceReason(helmRepositories, "charts", "Succeeded"); !strings.Contains(fmt.Sprint(o.Object["status"]), "stored artifact: revision 'sha256:") {
		t.Errorf("the status is %v", o.Object["status"])
	}

	r.Put("/charts/index.yaml", []byte("<html>under maintenance</html>"))
	w.sourceReason(helmRepositories, "charts", "IndexationFailed")
	r.Demand("robot", "another")
	if o := w.sourceReason(helmRepositories, "charts", "Failed"); !strings.Contains(fmt.Sprint(o.Object["status"]), "to the credentials of Secret "+w.ns+"/login") {
		t.Errorf("the status is %v", o.Object["status"])
	}
	w.mapSays("web", "1.1.0 prod")
	if all := w.kubectl("get", "helmrepositories,helmreleases", "-o", "yaml"); strings.Contains(all, password) {
		t.Error("a credential is in a status")
	}
}

// TestChartsOfARegistryAndOfABucket installs a signed chart of a registry, and one of a Bucket's files.
func TestChartsOfARegistryAndOfABucket(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r, s := ocitest.New(t), s3test.New(t)
	r.Demand("robot", password, ocitest.Tokens)
	signer := ocitest.NewSigner(t)
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: %s}\nstringData: {cosign.pub: %q}\n", w.ns, signer.Public))
	push := func(version string) string {
		layer := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("web", version, webChart(version))}
		return r.PushLayers("charts/web", version, nil, layer)
	}
	r.SignTag("charts/web", push("1.0.0"), signer)
	w.helmRepository("charts", "type: oci\ninsecure: true\nurl: "+r.URL("charts"))
	w.releaseOf("web", "chart: web\nversion: 1.x\ninterval: 1s\nverify: {provider: cosign, secretRef: {name: keys}}\nsourceRef: {kind: HelmRepository, name: charts}")
	w.releaseSays("web", "True", "with chart web@1.0.0")
	if _, out := w.command("get", "source", "helm", "charts"); !strings.Contains(out, "Helm repository is Ready") {
		t.Errorf("truce get says %s", out)
	}

	unsigned := push("1.1.0")
	w.releaseSays("web", "False", "it has no signature of cosign")
	r.SignTag("charts/web", unsigned, signer)
	w.releaseSays("web", "True", "with chart web@1.1.0")

	for name, text := range webChart("3.0.0") {
		s.Put("charts/files/"+name, text)
	}
	s.Put("charts/files/Chart.yaml", "apiVersion: v2\nname: files\nversion: 3.0.0\n")
	w.bucket("files", s, "")
	w.releaseOf("files", "chart: charts/files\nsourceRef: {kind: Bucket, name: files}")
	w.releaseSays("files", "True", "with chart files@3.0.0")
	w.await(w.Watch(t, configmaps, w.ns, "files"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "3.0.0 values" })
}
