package stories

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// respectful is an Application that leaves alone in a sync what is ignored, and names nothing itself.
const respectful = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: AT}
spec:
  project: default
  source: {repoURL: "file:///none", path: ., targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: NS}
  syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}
`

// auditor may read what is in its namespace, as the owner of a namespace may: no claims of other kinds, and nothing elsewhere.
const auditor = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: auditor, namespace: NS}
rules:
- {apiGroups: [apps, autoscaling, argoproj.io], resources: [deployments, horizontalpodautoscalers, applications], verbs: [get, list]}
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: auditor, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: auditor}
subjects: [{kind: ServiceAccount, name: auditor, namespace: NS}]
`

// TestAnAuditOfAClusterHeedsTheSettingsOfAnArgoCD: what ConfigMap argocd-cm ignores for all Applications is no conflict; and a user with rights in one namespace
// alone has an answer, which says what could not be read for it.
func TestAnAuditOfAClusterHeedsTheSettingsOfAnArgoCD(t *testing.T) {
	w := offArgoWorld(t, "-- README --\nnothing\n")
	elsewhere := w.Namespace(t)
	apply := func(text string, more ...string) {
		w.Apply(t, strings.NewReplacer(append(more, "NS", w.ns)...).Replace(text))
	}
	apply(respectful, "NAME", "here", "AT", w.ns)
	apply(respectful, "NAME", "there", "AT", elsewhere)
	for _, app := range []string{"here", "there"} {
		w.ApplyAs(t, "argocd-controller", strings.NewReplacer("NAME", app, "NS", w.ns, "LABELS", "", "REPLICAS", "replicas: 3",
			"ANNOTATIONS", "argocd.argoproj.io/tracking-id: '"+app+":apps/Deployment:"+w.ns+"/"+app+"'").Replace(scaledBy))
		apply(rivalHPA, "NAME", app, "MIN", "2")
	}
	holds := func(code int, args ...string) map[string]string {
		t.Helper()
		out := map[string]string{}
		for name, r := range w.rivals(w.truce(), code, args...) {
			out[name] = r.App + " " + r.Hold
		}
		return out
	}
	differs := func(got, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	here, there := "Application "+w.ns+"/here ", "Application "+elsewhere+"/there "
	differs(holds(1), map[string]string{"here": here + "named", "there": there + "named"})
	for _, ns := range []string{w.ns, elsewhere} {
		apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: AT}, data: {resource.customizations.ignoreDifferences.apps_Deployment: 'jsonPointers: [/spec/replicas]'}}", "AT", ns)
	}
	differs(holds(0), map[string]string{"here": here + "agreed", "there": there + "agreed"})

	apply(auditor)
	as := "--as=" + w.user("auditor")
	w.saysOf(w.truce(), 0, "audit --cluster -o wide "+as, "2 workloads under Git are autoscaled", "Application "+w.ns+"/here", "the Application ignores .spec.replicas",
		"unless its Application ignores that, which you may not read", "note: what other Applications say is not known: ", "note: what other AppProjects say is not known: ")
	w.saysOf(w.truce(), 1, "audit --cluster --fail-on warning "+as)
	program := exec.CommandContext(w.ctx, buildTruce(t), "audit", "--cluster", as, "--kubeconfig", w.Kubeconfig)
	if said, err := program.CombinedOutput(); program.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "horizontalpodautoscalers.autoscaling is forbidden") {
		t.Errorf("of all namespaces: %v\n%s", err, said)
	}
}
