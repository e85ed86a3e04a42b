package stories

import (
	"fmt"
	"strings"
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
