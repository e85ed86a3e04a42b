package stories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// scaledBy is a workload without requests, so that an autoscaler only brings it into its bounds, and such an autoscaler.
const scaledBy = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: NS
  labels: {LABELS}
  annotations: {ANNOTATIONS}
spec:
  REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

const rivalHPA = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME, namespace: NS}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  minReplicas: MIN
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// agreeing is an Application that has let go of counts, and one that has not.
const agreeing = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: agreeing, namespace: NS}
spec:
  project: default
  source: {repoURL: "file:///none", path: ., targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: NS}
  syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}
  ignoreDifferences:
  - {group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}
`

// rival is what the story looks at in the command's JSON.
type rival struct {
	Hold, Dialect, Manager, Writer, App string
	Live, Git                           any
}

// TestAnAuditOfAClusterFindsWhatGitAndAnAutoscalerReachFor is the last step of document 2, on objects that are applied as Flux's and Argo
// CD's controllers apply them, beside a real HPA controller.
func TestAnAuditOfAClusterFindsWhatGitAndAnAutoscalerReachFor(t *testing.T) {
	w := offArgoWorld(t, "-- README --\nnothing\n")
	text := func(base, name string, more ...string) string {
		return strings.NewReplacer(append([]string{"NAME", name, "NS", w.ns}, more...)...).Replace(base)
	}
	flux := []string{"LABELS", "kustomize.toolkit.fluxcd.io/name: web, kustomize.toolkit.fluxcd.io/namespace: flux-system", "ANNOTATIONS", ""}
	argo := func(app string) []string {
		return []string{"LABELS", "", "ANNOTATIONS", "argocd.argoproj.io/tracking-id: '" + app + ":apps/Deployment:" + w.ns + "/x'"}
	}
	names := func(of []string, count string) []string { return append(slices.Clone(of), "REPLICAS", count) }
	w.Apply(t, text(agreeing, ""))
	t.Cleanup(w.removeApps)

	w.ApplyAs(t, "kustomize-controller", text(scaledBy, "flux-names", names(flux, "replicas: 3")...))
	w.ApplyAs(t, "kustomize-controller", text(scaledBy, "flux-leaves", names(flux, "")...))
	w.ApplyAs(t, "kustomize-controller", text(scaledBy, "flux-lost", names(flux, "replicas: 3")...))
	w.ApplyAs(t, "kustomize-controller", text(scaledBy, "flux-alone", names(flux, "replicas: 3")...)) // not autoscaled
	w.ApplyAs(t, "argocd-controller", text(scaledBy, "argo-agrees", names(argo("agreeing"), "replicas: 3")...))
	w.ApplyAs(t, "kubetest", text(scaledBy, "nobodys", names([]string{"LABELS", "", "ANNOTATIONS", ""}, "replicas: 3")...))
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(text(scaledBy, "argo-names", names(argo("nobody-has-it"), "replicas: 3")...)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Kubectl(t, "apply", "-f", file, "--field-manager=argocd-controller") // on the client's side, as is Argo CD's default
	for name, least := range map[string]string{"flux-names": "2", "flux-leaves": "4", "flux-lost": "4", "argo-agrees": "2", "argo-names": "4", "nobodys": "2"} {
		w.Apply(t, text(rivalHPA, name, "MIN", least))
	}
	for _, name := range []string{"flux-leaves", "flux-lost", "argo-names"} {
		w.await(w.Watch(t, deployments, w.ns, name), func(u *unstructured.Unstructured) bool {
			n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
			return n == 4
		})
	}

	run := w.truce()
	want := map[string]rival{
		"flux-names":  {Hold: "named", Dialect: "flux", Manager: "kustomize-controller", Writer: "kustomize-controller", App: "Kustomization flux-system/web", Live: 3.0, Git: 3.0},
		"flux-lost":   {Hold: "unclear", Dialect: "flux", Manager: "kustomize-controller", Writer: "HPA " + w.ns + "/flux-lost", App: "Kustomization flux-system/web", Live: 4.0},
		"flux-leaves": {Hold: "free", Dialect: "flux", Manager: "kustomize-controller", Writer: "HPA " + w.ns + "/flux-leaves", App: "Kustomization flux-system/web", Live: 4.0},
		"argo-agrees": {Hold: "agreed", Dialect: "argocd", Manager: "argocd-controller", Writer: "argocd-controller", App: "Application " + w.ns + "/agreeing", Live: 3.0},
		"argo-names":  {Hold: "named", Dialect: "argocd", Manager: "argocd-controller", Writer: "HPA " + w.ns + "/argo-names", App: "Application /nobody-has-it", Live: 4.0, Git: 3.0},
	}
	if diff := cmp.Diff(want, w.rivals(run, 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.rivals(run, 1, "--dialect", "argocd"); len(got) != 2 || got["argo-names"].Hold == "" || got["argo-agrees"].Hold == "" {
		t.Errorf("--dialect argocd: %v", got)
	}
	w.saysOf(run, 1, "audit --cluster -o wide", "WORKLOAD", "names it (3)", "ignores it", "2 to 10", "HPA "+w.ns+"/argo-names", "each apply sets it to 3",
		"5 workloads under Git are autoscaled; of 2 Git names the count; of 1 no record shows whether Git does")
	_, wide := run("audit", "--cluster", "-o", "wide")
	t.Log("\n" + wide)
	w.saysOf(run, 0, "audit --cluster --fail-on never", "5 workloads")
	w.saysOf(run, 1, "audit --cluster --fail-on info")
	w.saysOf(run, 2, "audit --cluster .", "exclude each other")
	w.saysOf(run, 2, "audit .", "--namespace is about a cluster")
	w.saysOf(run, 2, "audit --cluster -o sarif", "-o sarif is a form of places in Git")
	w.saysOf(run, 3, "audit --cluster --as=nobody", "forbidden")
}

// rivals runs the audit, demands an exit code, and says how many lists of the namespace it took.
func (w *world) rivals(run func(...string) (int, string), code int, args ...string) map[string]rival {
	w.t.Helper()
	asks := func(e kubetest.Entry) bool {
		return e.Namespace == w.ns && e.Verb == "list" && strings.HasPrefix(e.Agent, "truce/") && e.Agent != w.agent
	}
	before := len(w.Audit(w.t, asks))
	got, said := run(append([]string{"audit", "--cluster", "-o", "json"}, args...)...)
	w.t.Logf("%d lists of the namespace", len(w.Audit(w.t, asks))-before)
	var list struct {
		Items []struct {
			Workload, Writer            struct{ Name string }
			App                         struct{ Kind, Namespace, Name string }
			Hold, Dialect, Manager, Git any
			Live                        any
		}
	}
	if err := json.Unmarshal([]byte(said), &list); err != nil || got != code {
		w.t.Fatalf("exit code %d, want %d, %v:\n%s", got, code, err, said)
	}
	out := map[string]rival{}
	for _, i := range list.Items {
		text := func(v any) string { s, _ := v.(string); return s }
		out[i.Workload.Name] = rival{
			Hold: text(i.Hold), Dialect: text(i.Dialect), Manager: text(i.Manager), Writer: i.Writer.Name,
			App: i.App.Kind + " " + i.App.Namespace + "/" + i.App.Name, Live: i.Live, Git: i.Git,
		}
	}
	return out
}
