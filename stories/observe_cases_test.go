package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unusual are four apps with something that gets in the way of looking, each beside an object that is as usual.
const unusual = `
-- forbidden/all.yaml --
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE}
data: {colour: blue}
-- homeless/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: far, namespace: NAMESPACE-nowhere}
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: NAMESPACE}
data: {colour: blue}
-- unserved/all.yaml --
apiVersion: story.example/v1
kind: Gadget
metadata: {name: g, namespace: NAMESPACE}
spec: {size: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.story.example}
spec:
  group: story.example
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAMESPACE}
data: {colour: blue}
-- immutable/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed, namespace: NAMESPACE}
immutable: true
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: d, namespace: NAMESPACE}
data: {colour: blue}
`

// observer may read all, and write nothing but ConfigMaps, which dry runs need.
const observer = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-reads}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS-reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS-reads}
subjects: [{kind: ServiceAccount, name: observer, namespace: NS}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tries, namespace: NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tries, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tries}
subjects: [{kind: ServiceAccount, name: observer, namespace: NS}]
`

// TestWhatCannotBeObservedIsSaidOnItsOwnApp: nothing of it holds up another object, or another app.
func TestWhatCannotBeObservedIsSaidOnItsOwnApp(t *testing.T) {
	w := offWorld(t, unusual)
	w.asObserver()
	live := strings.NewReplacer("port: 80", "port: 81", "colour: blue", "colour: red").Replace(unusual)
	for _, doc := range []string{"forbidden", "homeless", "unserved", "immutable"} {
		_, text, _ := strings.Cut(live, "-- "+doc+"/all.yaml --\n")
		text, _, _ = strings.Cut(text, "\n-- ")
		for object := range strings.SplitSeq(text, "\n---\n") {
			if strings.Contains(object, "namespace: NAMESPACE}") && !strings.Contains(object, "Gadget") {
				w.ApplyAs(t, "kustomize-controller", strings.ReplaceAll(object, "NAMESPACE", w.ns))
			}
		}
		w.app(doc, "./"+doc, defaultSpec)
	}
	w.start(policy.Policy{Mode: policy.Observe})
	colour := " .data.colour: observe mode writes nothing"
	for name, want := range map[string][]string{
		"forbidden": {"web .spec.ports", "a" + colour, `note: compared without a dry run, by what Git names alone: 1 of the objects (dry run: services "web" is forbidden`},
		"homeless":  {"far : observe mode writes nothing; an apply would create it, once namespace " + w.ns + "-nowhere is there", "b" + colour},
		"unserved":  {"g : observe mode writes nothing; an apply would create it, once the API server serves story.example/v1 Gadget", "gadgets.story.example : ", "c" + colour},
		"immutable": {"fixed: dry run: ConfigMap \"fixed\" is invalid", "field is immutable when `immutable` is set", "d" + colour},
	} {
		said := ""
		w.until("truce to have looked at "+name, func() bool {
			r := w.running.Engine.Report(appKeyOf("Kustomization", w.ns, name))
			said = inWords(r)
			for _, o := range r.Objects {
				if len(o.Findings) == 0 && o.Problem == "" {
					return false
				}
			}
			return r.Stage == report.Done || r.Stage == report.Apply
		})
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%s does not say %q:\n%s", name, part, said)
			}
		}
	}
	if got := w.wroteAnything(); len(got) > 0 {
		t.Errorf("truce wrote: %v", got)
	}
}

// asObserver lets the story's truce do no more than look.
func (w *world) asObserver() {
	w.t.Helper()
	w.Apply(w.t, replaceNS(observer, w.ns))
	for _, kind := range []string{"clusterroles", "clusterrolebindings"} {
		w.later(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: kind}, "", w.ns+"-reads")
	}
	w.account = "system:serviceaccount:" + w.ns + ":observer"
}

// inWords is a report, a line for each thing that it says.
func inWords(r report.Report) string {
	var b strings.Builder
	for _, o := range r.Objects {
		if o.Problem != "" {
			b.WriteString(o.ID.Name + ": " + o.Problem + "\n")
		}
		for _, f := range o.Findings {
			b.WriteString(o.ID.Name + " " + f.Path.String() + ": " + f.Reason + "\n")
		}
	}
	for _, n := range r.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String() + string(r.Stage) + ": " + r.Message
}
