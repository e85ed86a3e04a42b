package stories

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// commandsThere is the scene of a person who asks about an app whose objects are in another cluster.
func commandsThere(f farWorld) {
	run := f.truce()
	f.saysOf(run, 0, "app get there", f.ns+"/more ", f.ns+"/web ")
	if _, said := run("app", "get", "there"); strings.Contains(said, "Missing") {
		f.t.Errorf("objects of the other cluster are looked for in this one:\n%s", said)
	}
	f.saysOf(run, 0, "app diff there", "no differences")
	f.saysOf(run, 0, "app wait there --timeout 60s")
	f.saysOf(run, 0, "why configmap/more", "there/more.yaml")
	f.saysOf(run, 0, "blame configmap/more", "there/more.yaml")
	f.saysOf(run, 0, "why configmap/cm .data.k", "here/cm.yaml", "Kustomization "+f.ns+"/there has an object of this name in another cluster: ask with --of kustomization/there")
	f.saysOf(run, 0, "why configmap/cm .data.k --of kustomization/there", `"there"`, "there/cm.yaml")
	f.saysOf(run, 0, "blame configmap/cm --of kustomization/there", "there/cm.yaml")
	f.saysOf(run, 3, "why configmap/none -n default --of kustomization/there", "Kustomization "+f.ns+"/there lists no configmap/none in another cluster") // an app of another namespace than the object
	f.saysOf(run, 3, "why configmap/none --of kustomization/there", "Kustomization "+f.ns+"/there lists no configmap/none in another cluster")
	f.saysOf(run, 0, "why thither/tool .spec.size", "there/thither.yaml") // a kind that this cluster does not serve
	f.saysOf(run, 2, "why gizmo/tool", "gizmo")
	f.saysOf(run, 0, "tree kustomization there", "ConfigMap/"+f.ns+"/more")
	f.withoutRights(run)
}

// adoptedThere takes over what kustomize-controller has applied to the other cluster, and gives it back.
func adoptedThere(f farWorld) {
	run := f.truce()
	object := func(name, data string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, labels: {kustomize.toolkit.fluxcd.io/name: adopted, kustomize.toolkit.fluxcd.io/namespace: %[2]s}}, data: {%s}}", name, f.ns, data)
	}
	f.there.ApplyAs(f.t, "kustomize-controller", object("adopted", "k: there, leftover: x")+"\n---\n"+object("left", "k: there"))
	f.Apply(f.t, f.manifest("adopted", "./adopted", "suspend: true"+inTheOtherCluster))
	f.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/adopted", "--type=merge", "--subresource=status", "-p", fmt.Sprintf(
		`{"status":{"inventory":{"entries":[{"id":"%[1]s_adopted__ConfigMap","v":"v1"},{"id":"%[1]s_left__ConfigMap","v":"v1"}]}}}`, f.ns))
	cm, left := f.there.Watch(f.t, configmaps, f.ns, "adopted"), f.there.Watch(f.t, configmaps, f.ns, "left")
	f.saysOf(run, 0, "adopt adopted --dry-run", "leftover", "no longer in Git: to be pruned", "adopted (beside) (dry run)")
	f.saysOf(run, 0, "adopt adopted --timeout 60s", "adopted (beside), 1 object")
	f.await(cm, func(o *unstructured.Unstructured) bool {
		return isOurs(o, "kustomize-controller") && text(o, "data", "leftover") == ""
	})
	left.AwaitDeleted(f.ctx)
	f.saysOf(run, 0, "release adopted --timeout 60s", "released, 1 object")
	f.await(cm, func(o *unstructured.Unstructured) bool { return isTheirs(o, "kustomize-controller") })
	f.until("the release to be over on the Kustomization, too", func() bool {
		return text(f.get(kustomizations, "adopted"), "metadata", "annotations", "truce.dev/mode") == "observe"
	})
	f.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/adopted", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`) // as Flux does
	f.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/adopted")
	f.there.Kubectl(f.t, "delete", "configmap/adopted", "-n", f.ns)
}

// withoutRights asks as a user who may read apps and sources, but no Secret.
func (f farWorld) withoutRights(run func(...string) (int, string)) {
	f.t.Helper()
	f.Apply(f.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: %[1]s}
rules:
- {apiGroups: [kustomize.toolkit.fluxcd.io, source.toolkit.fluxcd.io], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: reader}]
`, f.ns))
	f.saysOf(run, 0, "app list --as reader", "there ", "note: apps of kind HelmRelease are left out: ", `User "reader" cannot`)
	for _, args := range []string{"app diff there --as reader", "why configmap/more --as reader"} {
		_, said := run(strings.Fields(args)...)
		if !strings.Contains(said, "look into the cluster of the kubeconfig in Secret "+f.ns+"/far") || !strings.Contains(said, `User "reader" cannot get resource "secrets"`) {
			f.t.Errorf("truce %s does not say what right is missing:\n%s", args, said)
		}
	}
}
