package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// badFiles are directories with one thing wrong in each, and one that is right.
const badFiles = `
-- good/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: NAMESPACE}, data: {k: v0}}
-- resource/kustomization.yaml --
resources:
- gone.yaml
-- yaml/fine.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: fine, namespace: NAMESPACE}}
-- yaml/bad.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: bad
data: {}
-- kind/fine.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: beside, namespace: NAMESPACE}}
-- kind/widget.yaml --
# a comment

apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: NAMESPACE}
-- ten/all.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: ten-0, namespace: NAMESPACE}}
`

// badApps are what is wrong with an app, and what its Ready condition must say of it: operation, subject, cause, and the file to blame.
var badApps = map[string]struct {
	source, spec string // of the Kustomization
	says         []string
}{
	"branch":   {"branch", "path: ./good", []string{"fetch ", "branch", "gone"}},
	"path":     {"repo", "path: ./nowhere", []string{"render nowhere: the path does not exist in this revision"}},
	"resource": {"repo", "path: ./resource", []string{"render resource: resource/kustomization.yaml:2: gone.yaml: no such file"}},
	"yaml":     {"repo", "path: ./yaml", []string{"render yaml: yaml/bad.yaml:"}},
	"kind":     {"repo", "path: ./kind", []string{"kind/widget.yaml:3: Widget.example.com NAMESPACE/w: read: the API server does not serve this kind"}},
	"decrypt":  {"repo", "path: ./good\ndecryption: {provider: sops, secretRef: {name: nope}}", []string{"sops decryption Secret 'NAMESPACE/nope' is not there"}},
	"replace": {"repo", "path: ./good\nignoreDifferences: [{target: {kind: ConfigMap}, jsonPatches: [{op: replace, path: /data/k, value: x}]}]",
		[]string{"spec.ignoreDifferences[0].jsonPatches[0].op: op replace would set a value; only remove has a meaning here"}},
	"secret":  {"secret", "path: ./good", []string{"GitRepository NAMESPACE/secret", "Secret nope is not there"}},
	"nothing": {"nothing", "path: ./good", []string{"GitRepository NAMESPACE/nothing is not in the cluster"}},
	"host":    {"host", "path: ./good", []string{"GitRepository NAMESPACE/host: fetch ssh://", "host key"}},
	"hangs":   {"hangs", "path: ./good", []string{"GitRepository NAMESPACE/hangs: fetch http://", "1s"}},
}

func TestBadInputIsTheProblemOfItsOwnApp(t *testing.T) {
	w := newWorld(t, policy.Policy{}, badFiles)
	w.app("good", "./good", defaultSpec)
	w.ready("good")
	w.badSources()
	for name, c := range badApps {
		w.kustomization(name, c.source, c.spec+"\nprune: true\ninterval: 1h")
	}
	for name, c := range badApps {
		t.Run(name, func(t *testing.T) {
			inner := *w
			inner.t = t
			t.Log(inner.fails(name, inNS(c.says, w.ns)...))
		})
	}
	for name, want := range map[string]string{"path": meta.ArtifactFailedReason, "resource": meta.BuildFailedReason} {
		if reason := w.reason(name); reason != want {
			t.Errorf("%s: Ready has the reason %s, want %s", name, reason, want)
		}
	}
	w.badCharts()
	good := w.Watch(t, configmaps, w.ns, "good")
	w.edit("good/a.yaml", "k: v0", "k: v1")
	w.ready("good")
	w.putBack(good, "good", "changed", "v1")
	for _, name := range []string{"fine", "bad"} { // one file that cannot be read refuses its directory
		if w.isThere(configmaps, name) {
			t.Errorf("%s was applied", name)
		}
	}
	if !w.isThere(configmaps, "beside") {
		t.Error("an object beside one of an unknown kind was not applied")
	}
}

// badCharts are HelmCharts with one thing wrong in each: it is in their own status, and on the HelmRelease that reads it.
func (w *world) badCharts() {
	w.t.Helper()
	for name, c := range map[string]struct{ spec, says string }{
		"no-chart":  {"chart: ./good\nsourceRef: {kind: GitRepository, name: repo}", "Chart.yaml"},
		"no-source": {"chart: ./good\nsourceRef: {kind: Bucket, name: nowhere}", "Bucket " + w.ns + "/nowhere is not in the cluster"},
		"leads-out": {"chart: ../../etc\nsourceRef: {kind: GitRepository, name: repo}", "leads out of the source"},
		"version":   {"chart: web\nversion: not.a.range\nsourceRef: {kind: HelmRepository, name: nowhere}", "version"},
	} {
		w.chart(name, c.spec)
		w.releaseSays(name, "False", c.says)
		w.await(w.Watch(w.t, helmCharts, w.ns, name), func(o *unstructured.Unstructured) bool {
			return slices.ContainsFunc(entries(o, "status", "conditions"), func(of map[string]any) bool {
				return of["type"] == "Ready" && of["status"] == "False" && contains(of["message"], c.says)
			})
		})
	}
}

func inNS(parts []string, ns string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(parts, "\x00"), "NAMESPACE", ns), "\x00")
}

// badSources are GitRepositories that cannot be fetched, each for another reason.
func (w *world) badSources() {
	w.t.Helper()
	w.source("branch", "url: "+w.repo.URL+"\ninterval: 1h\nref: {branch: gone}")
	w.source("secret", "url: http://127.0.0.1:1/repo\ninterval: 1h\nsecretRef: {name: nope}")
	right, wrong := gittest.ServeSSH(w.t, w.repo), gittest.ServeSSH(w.t, w.repo)
	w.sshSecret("host", right.Identity, strings.ReplaceAll(wrong.KnownHosts, wrong.Addr, right.Addr))
	w.source("host", "url: "+right.URL+"\ninterval: 1h\nsecretRef: {name: host}")
	hangs := gittest.ServeHTTP(w.t, w.repo, gittest.HTTPOptions{})
	hangs.Hang()
	w.source("hangs", "url: "+hangs.URL+"\ninterval: 1h\ntimeout: 1s")
}

func (w *world) sshSecret(name, identity, knownHosts string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {identity: %q, known_hosts: %q}",
		name, w.ns, identity, knownHosts))
}

func TestServersThatHangHoldUpNobody(t *testing.T) {
	w := newWorld(t, policy.Policy{}, badFiles)
	hangs := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	hangs.Hang()
	for n := range 12 {
		name := fmt.Sprintf("hangs-%d", n)
		w.source(name, "url: "+hangs.URL+"\ninterval: 1h\ntimeout: 10m")
		w.kustomization(name, name, "path: ./good\nprune: true\ninterval: 1h")
	}
	requests := w.Watch(t, gitRepositories, w.ns, "hangs-11")
	w.await(requests, exists)
	w.app("good", "./good", defaultSpec)
	w.ready("good")
	w.edit("good/a.yaml", "k: v0", "k: v1")
	w.ready("good")
}

func TestAnImmutableFieldIsSaidAndTheObjectIsLeftAlone(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+configMaps("apps/my-app", "beside"))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	uid := d.Values()[0].Object.GetUID()
	beside := w.Watch(t, configmaps, w.ns, "beside")
	w.repo.Commit(map[string]string{
		"apps/my-app/my-app.yaml": replace(t, w.repo.Git("show", "HEAD:apps/my-app/my-app.yaml"), "{app: my-app}", "{app: other}"),
		"apps/my-app/beside.yaml": replace(t, w.repo.Git("show", "HEAD:apps/my-app/beside.yaml"), `"k":"beside"`, `"k":"new"`),
	}, "another selector")
	t.Log(w.fails("my-app", "apps/my-app/my-app.yaml:1: Deployment.apps "+w.ns+"/my-app: apply: ", "spec.selector", "immutable"))
	w.await(beside, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	if now := w.get(deployments, "my-app"); now == nil || now.GetUID() != uid {
		t.Error("the Deployment was replaced")
	}
	w.edit("apps/my-app/my-app.yaml", "{app: other}", "{app: my-app}")
	w.ready("my-app")
}

func TestOneOfTenIsRefusedAndTheNineAreApplied(t *testing.T) {
	var b strings.Builder
	for n := range 9 {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: NAMESPACE}}\n---\n", n)
	}
	w := newWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+b.String()+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, namespace: NAMESPACE, labels: {a: ' not a label '}}}\n")
	w.app("app", "./app", defaultSpec)
	t.Log(w.fails("app", "app/all.yaml:19: ConfigMap "+w.ns+"/bad", "metadata.labels"))
	for n := range 9 {
		if !w.isThere(configmaps, fmt.Sprintf("c%d", n)) {
			t.Errorf("c%d was not applied", n)
		}
	}
	w.edit("app/all.yaml", "' not a label '", "label")
	w.ready("app")
}

func TestTwoAppsThatNameOneObject(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("one", "shared", "a")+"-- two/shared.yaml --\n"+
		strings.ReplaceAll(configMap("shared"), `"k":"shared"`, `"k":"two"`)+configMaps("two", "b"))
	w.app("one", "./one", defaultSpec)
	w.ready("one")
	shared := w.Watch(t, configmaps, w.ns, "shared")
	w.app("two", "./two", defaultSpec)
	t.Log(w.fails("two", "ConfigMap "+w.ns+"/shared is named by Kustomization "+w.ns+"/one too"))
	w.check("one")
	w.ready("one")
	w.check("two")
	for _, v := range shared.Values() {
		if value(v.Object, "k") != "shared" {
			t.Errorf("the second app wrote over the first's: %v", v.Object.Object["data"])
		}
	}
	if !w.isThere(configmaps, "b") {
		t.Error("the second app's own object was not applied")
	}
	// When the first lets go, the second takes over; the object is never gone.
	w.repo.Remove("one/shared.yaml")
	w.await(shared, func(o *unstructured.Unstructured) bool { return value(o, "k") == "two" })
	w.ready("two")
	w.ready("one")
	first := shared.Values()[0].Object.GetUID()
	for _, v := range shared.Values() {
		if v.Object.GetUID() != first {
			t.Error("the object was deleted on the way")
		}
	}
}

func replace(t *testing.T, text, before, after string) string {
	t.Helper()
	if !strings.Contains(text, before) {
		t.Fatalf("%q is not in\n%s", before, text)
	}
	return strings.ReplaceAll(text, before, after) + "\n"
}

// stuckKind is a CRD whose names another one has already: it is never established, and its app waits for that.
const stuckKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: Taken, plural: %[1]s}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestAppsThatWaitForEverHoldUpNobody(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- good/a.yaml --\n" + configMap("good"))
	const stuck = 20
	for n := range stuck {
		fmt.Fprintf(&b, "-- stuck-%d/kind.yaml --%s", n, fmt.Sprintf(stuckKind, fmt.Sprintf("taken%d", n)))
	}
	w := newWorld(t, policy.Policy{}, b.String())
	w.Apply(t, strings.ReplaceAll(fmt.Sprintf(stuckKind, "first"), "NAMESPACE", w.ns))
	w.Established(t, "first."+w.ns+".example.com")
	for n := range stuck {
		w.app(fmt.Sprintf("stuck-%d", n), fmt.Sprintf("./stuck-%d", n), defaultSpec)
	}
	for n := range stuck {
		w.await(w.Watch(t, crds, "", fmt.Sprintf("taken%d.%s.example.com", n, w.ns)), exists)
	}
	w.app("good", "./good", defaultSpec)
	w.ready("good")
	// What waits makes way for the commit that ends the waiting, and for its own end.
	w.edit("stuck-0/kind.yaml", "kind: Taken,", "kind: Free, listKind: FreeOnes, singular: free,")
	w.ready("stuck-0")
	w.kubectl("delete", "kustomization/stuck-1", "--timeout="+patience.String())
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
