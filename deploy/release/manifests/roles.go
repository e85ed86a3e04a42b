package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/permissions"
)

const (
	ownHead = `# What a controller that applies needs for itself, whatever it applies.`
	obsHead = `# What a controller with --mode observe needs: to read everything, and to create Events about claims, Providers and Alerts that it cannot use.
# It cannot write an object of Git's, nor the status of a custom resource, and creates no Event about what it finds. Its own records it writes in
# its own namespace alone (base/home.yaml). As "*" has no exception, it may read Secrets: with the hashes of their values truce compares them.
# "*" covers subresources, too. Who takes over the controller can run commands in pods by a GET of nodes/proxy, and by one of pods/exec where the API server
# asks for no other verb (before Kubernetes 1.35, KEP-4006): if you know the kinds in your repositories, name them here instead of "*".`
	objHead = `# What a controller needs for the objects in Git. It covers every kind, and does not grant permissions that it has not itself (verbs escalate and
# bind). So a Role or ClusterRole in Git with other verbs than these is refused by the API server, and its app says so:
# if your repositories hold such roles, take rbac/cluster-admin in place of rbac/objects. "*" covers subresources, too: who takes over the controller can
# create tokens of all service accounts (serviceaccounts/token) and run commands in all pods (pods/exec), and so has the permissions of each account. If you
# know the kinds in your repositories, name them here instead of "*".`
	actHead = `# What a controller needs besides, for apps with spec.serviceAccountName, --default-service-account and --multi-tenant: to act as service accounts.
# RBAC has no rule for "of the app's own namespace"; the controller keeps to it. Who takes over the controller has the permissions of every account,
# also to write where truce itself only observes.`
	actOneHead = `# In place of rbac/tenants, beside rbac/one-namespace: to act as the service accounts of one namespace. Write your namespace, and where truce's account
# is, over team-a and truce-system.`
	homeHead  = `# What every controller needs in its own namespace alone.`
	adminHead = `# In place of rbac/objects: truce may do everything, as the controllers of Flux. A repository can then hold roles with any permission. Its binding
# has a name of its own, since a roleRef cannot be changed: delete ClusterRoleBinding truce-objects where rbac/objects was applied before.`
	oneHead = `# In place of rbac/objects, for a controller that works for one namespace (truce controller --namespace team-a): it may do everything there that
# truce does, and nothing elsewhere. Write your namespace, and where truce's account is, over team-a and truce-system. ClusterRole
# truce-controller and truce-objects must be there; they grant nothing by themselves.
#
# Without more, objects that lie in no namespace or in another one are refused, and reported on their app. What truce reads of the whole cluster
# where it may: CustomResourceDefinitions (without, a changed schema is noticed late) and claimants that lie in no namespace (without, a
# field that they could claim is not corrected, and the app says so).`
)

// roleFiles returns the files of deploy/rbac.
func roleFiles() map[string][]byte {

	return map[string][]byte{
		"base/home.yaml": yamlDocuments(homeHead, strings.Replace(roleManifest("truce-home", permissions.NamespaceRules()), "kind: ClusterRole", "kind: Role", 1),
			strings.NewReplacer("kind: ClusterRole\n", "kind: Role\n", "  namespace: team-a\n", "").Replace(binding("RoleBinding", "truce-home", "truce-home"))),
		"rbac/controller/role.yaml":            yamlDocuments(ownHead, roleManifest("truce-controller", permissions.ControllerRules(), permissions.StatusRules("truce-system"), permissions.ClaimantRules(claim.Builtin().Kinds())), binding("ClusterRoleBinding", "truce-controller", "truce-controller")),
		"rbac/objects/role.yaml":               yamlDocuments(objHead, roleManifest("truce-objects", permissions.ApplyRules()), binding("ClusterRoleBinding", "truce-objects", "truce-objects")),
		"rbac/tenants/role.yaml":               yamlDocuments(actHead, roleManifest("truce-tenants", permissions.Impersonate()), binding("ClusterRoleBinding", "truce-tenants", "truce-tenants")),
		"rbac/tenants-one-namespace/role.yaml": yamlDocuments(actOneHead, roleManifest("truce-tenants", permissions.Impersonate()), binding("RoleBinding", "truce-tenants", "truce-tenants")),
		"rbac/cluster-admin/role.yaml":         yamlDocuments(adminHead, binding("ClusterRoleBinding", "truce-cluster-admin", "cluster-admin")),
		"rbac/observe/role.yaml":               yamlDocuments(obsHead, roleManifest("truce-observe", permissions.ObserverRules(), permissions.Observe()), binding("ClusterRoleBinding", "truce-observe", "truce-observe")),
		"rbac/one-namespace/role.yaml": yamlDocuments(oneHead,
			roleManifest("truce-controller", permissions.ControllerRules(), permissions.StatusRules("truce-system"), permissions.ClaimantRules(claim.Builtin().Kinds())), roleManifest("truce-objects", permissions.ApplyRules()),
			binding("RoleBinding", "truce-controller", "truce-controller"), binding("RoleBinding", "truce-objects", "truce-objects")),
	}
}

const generated = "\n# Generated from internal/model/permissions by `make gen`.\n"

func yamlDocuments(head string, objects ...string) []byte {
	return []byte(head + generated + strings.Join(objects, "---\n"))
}

const meta = `apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata:
  name: %s
%s  labels:
    app.kubernetes.io/name: truce
    app.kubernetes.io/instance: truce
    app.kubernetes.io/part-of: truce
    app.kubernetes.io/component: rbac
`

func roleManifest(name string, rules ...[]permissions.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, meta, "ClusterRole", name, "")
	b.WriteString("rules:\n")
	for _, r := range slices.Concat(rules...) {
		fmt.Fprintf(&b, "# %s\n- apiGroups: [%q]\n  resources: [%s]\n  verbs: [%s]\n", r.For, r.Group, quotedList(r.Resources), quotedList(r.Verbs))
		if len(r.Names) > 0 {
			fmt.Fprintf(&b, "  resourceNames: [%s]\n", quotedList(r.Names))
		}
	}
	return b.String()
}

func quotedList(words []string) string {
	quoted := slices.Clone(words)
	for i, w := range quoted {
		if w == "*" {
			quoted[i] = `"*"`
		}
	}
	return strings.Join(quoted, ", ")
}

func binding(kind, name, role string) string {
	where := ""
	if kind == "RoleBinding" {
		where = "  namespace: team-a\n"
	}
	return fmt.Sprintf(meta, kind, name, where) + `roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: ` + role + `
subjects:
- kind: ServiceAccount
  name: truce
  namespace: truce-system
`
}
