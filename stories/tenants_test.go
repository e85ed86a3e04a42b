package stories

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// multiTenant is what --multi-tenant sets, and --admin-namespaces.
func multiTenant(admins ...string) tenancy.Rules {
	return tenancy.Rules{References: tenancy.SameNamespace, Account: "default", Sharing: tenancy.Shared, Admins: admins}
}

// tenants starts a truce with --multi-tenant for the story's own namespace, which is the administrators', and for two tenants. In the files
// NS-A and NS-B are the tenants' namespaces.
func tenants(t *testing.T, files map[string]string) (w, a, b *world) {
	t.Helper()
	w = offWorld(t, "-- none --\n")
	first, second := *w, *w
	first.ns, second.ns = w.Namespace(t), w.Namespace(t)
	a, b = &first, &second
	commit := map[string]string{}
	for name, text := range files {
		commit[name] = strings.NewReplacer("NS-A", a.ns, "NS-B", b.ns, "NS-ADMIN", w.ns).Replace(text)
	}
	w.repo.Commit(commit, "what tenants want")
	w.works = append(w.works, a.ns, b.ns)
	w.impersonates()
	w.run(compose.RunOptions{Settings: controller.Settings{Tenancy: multiTenant(w.ns)}})
	return w, a, b
}

// impersonates gives the installed account what an installation for tenants adds to its roles.
func (w *world) impersonates() {
	w.t.Helper()
	if os.Getenv(accountVariable) != "" {
		w.Apply(w.t, strings.ReplaceAll(w.Kubectl(w.t, "kustomize", "../deploy/rbac/tenants"), "namespace: truce-system", "namespace: "+accountNamespace))
	}
}

// lets gives a service account of the namespace one right, in a namespace.
func (w *world) lets(account, namespace, rule string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tenant-of-%[1]s, namespace: %[2]s}
rules: [%[3]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant-of-%[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant-of-%[1]s}
subjects: [{kind: ServiceAccount, name: %[4]s, namespace: %[1]s}]
`, w.ns, namespace, rule, account))
	w.until("the right to be in force", func() bool { return w.mayPatchConfigMaps(w.user(account), namespace) })
}

func (w *world) mayPatchConfigMaps(user, namespace string) bool {
	w.t.Helper()
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	said, err := w.dynamic().Resource(reviews).Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": user, "resourceAttributes": map[string]any{"verb": "patch", "resource": "configmaps", "namespace": namespace}},
	}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	may, _, _ := unstructured.NestedBool(said.Object, "status", "allowed")
	return may
}

func (w *world) user(account string) string { return "system:serviceaccount:" + w.ns + ":" + account }

// users lists who has written or read objects other than truce's own in the namespace, for its truce.
func (w *world) users(kinds ...string) []string {
	var out []string
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && slices.Contains(kinds, e.Resource.Resource) && e.Verb != "list" && e.Verb != "watch" &&
			!strings.HasPrefix(e.Name, "truce-")
	}) {
		if !slices.Contains(out, e.User) {
			out = append(out, e.User)
		}
	}
	return out
}

const (
	allOfConfigMaps = `{apiGroups: [""], resources: [configmaps], verbs: ["*"]}`
	andDeployments  = `{apiGroups: ["", apps], resources: [configmaps, deployments], verbs: ["*"]}`
)

func TestATenantsAppHasTheRightsOfItsAccountAlone(t *testing.T) {
	_, a, b := tenants(t, map[string]string{
		"ours/cm.yaml":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: NS-A}, data: {k: git}}\n",
		"ours/more.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: NS-A}, data: {k: git}}\n",
		"theirs/cm.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: NS-B}, data: {k: git}}\n",
		"cluster/ns.yaml":  "{apiVersion: v1, kind: Namespace, metadata: {name: NS-A, labels: {pod-security.kubernetes.io/enforce: privileged}}}\n",
		"role/binding.yml": "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: up, namespace: NS-A}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: default, namespace: NS-A}]}\n",
	})
	a.lets("default", a.ns, allOfConfigMaps)
	a.app("ours", "./ours", defaultSpec)
	a.ready("ours")

	ours := a.Watch(t, configmaps, a.ns, "ours")
	holds := func(k string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "k") == k }
	}
	a.kubectl("patch", "configmap/ours", "-p", `{"data":{"k":"by hand"}}`)
	ours.AwaitInTurn(a.ctx, 0, holds("by hand"), holds("git"))
	gone := a.Watch(t, configmaps, a.ns, "more")
	a.repo.Remove("ours/more.yaml")
	a.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "now")
	gone.AwaitDeleted(a.ctx)

	for name, want := range map[string]string{
		"theirs":  `User "` + a.user("default") + `" cannot patch resource "configmaps" in API group "" in the namespace "` + b.ns + `"`,
		"role":    `cannot patch resource "rolebindings"`,
		"cluster": "cluster-scoped objects are the administrators'",
	} {
		a.kustomization(name, "repo", "path: ./"+name+"\nprune: true\ninterval: 1h")
		a.fails(name, want)
	}
	if b.get(configmaps, "theirs") != nil {
		t.Error("a tenant has written to another's namespace")
	}
	if got := a.users("configmaps", "rolebindings", "namespaces"); !slices.Equal(got, []string{a.user("default")}) {
		t.Errorf("requests about the tenant's objects were made as %v", got)
	}
}

// TestTheFirstOfTheNamespacesIsATenants: the Lease and the records of a controller with --namespace are in the first one, and its apps are a tenant's nevertheless.
func TestTheFirstOfTheNamespacesIsATenants(t *testing.T) {
	w := offWorld(t, "-- app/cm.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: BESIDE}, data: {k: git}}\n")
	beside := w.Namespace(t)
	w.edit("app/cm.yaml", "BESIDE", beside)
	w.works = append(w.works, beside)
	w.impersonates()
	w.run(compose.RunOptions{Settings: controller.Settings{Tenancy: multiTenant()}})
	w.app("app", "./app", defaultSpec)
	w.fails("app", `User "`+w.user("default")+`" cannot patch resource "configmaps" in API group "" in the namespace "`+beside+`"`)
}

func TestATenantKeepsNoObjectFromAnotherByNamingIt(t *testing.T) {
	_, a, b := tenants(t, map[string]string{
		"app/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: NS-A}, data: {k: of-a-alone}}\n",
	})
	a.lets("default", a.ns, allOfConfigMaps)
	b.app("greedy", "./app", defaultSpec)
	b.fails("greedy", "cannot patch resource")
	a.app("app", "./app", defaultSpec)
	a.ready("app")
	b.annotate(kustomizations, "greedy", "reconcile.fluxcd.io/requestedAt", "now")
	said := b.condition("greedy", "Ready", func(_ map[string]any, o *unstructured.Unstructured) bool {
		return text(o, "status", "lastHandledReconcileAt") == "now"
	})
	if strings.Contains(said, "app") && strings.Contains(said, "Kustomization "+a.ns) {
		t.Errorf("the status names the other tenant's app: %s", said)
	}
}

// A Deployment is watched as a whole, so that the watch shows truce what the account may not read.
func TestAnAccountThatHasLostItsRightsIsShownNothing(t *testing.T) {
	_, a, _ := tenants(t, map[string]string{
		"app/web.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS-A}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: git}]}}}}\n",
	})
	a.lets("default", a.ns, andDeployments)
	a.app("app", "./app", defaultSpec+"\nremediation: {remediate: false}") // drift is said, and no write fails
	a.ready("app")
	a.kubectl("delete", "rolebinding", "tenant-of-"+a.ns)
	a.until("the rights to be gone", func() bool { return !a.mayPatchConfigMaps(a.user("default"), a.ns) })
	a.kubectl("set", "image", "deployment/web", "main=leak-me")
	a.fails("app", `User "`+a.user("default")+`" cannot get resource "deployments"`)
	app := a.kubectl("get", "kustomization/app", "-o", "yaml")
	if events := a.kubectl("get", "events", "-o", "yaml", "--field-selector=involvedObject.kind=Kustomization"); strings.Contains(app+events, "leak-me") {
		t.Errorf("the status or an Event shows what the account may not read:\n%s\n%s", app, events)
	}
	if got := a.kubectl("get", "deployment/web", "-o", "jsonpath={..image}"); got != "leak-me" {
		t.Errorf("written without the right to: %q", got)
	}
	a.delete(kustomizations, a.ns, "app")
	a.fails("app", "/web: ", "cannot get resource")
	if !a.isThere(deployments, "web") {
		t.Error("deleted without the right to")
	}
	a.lets("default", a.ns, andDeployments)
	a.annotate(kustomizations, "app", "reconcile.fluxcd.io/requestedAt", "now")
}

func TestANamespaceOfATenantCanBeDeleted(t *testing.T) {
	w, a, _ := tenants(t, map[string]string{
		"app/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: NS-A}}\n",
	})
	a.lets("default", a.ns, allOfConfigMaps)
	a.app("app", "./app", defaultSpec)
	a.ready("app")
	a.kubectl("delete", "rolebinding", "tenant-of-"+a.ns) // the namespace controller deletes it in no particular order
	a.until("the rights to be gone", func() bool { return !a.mayPatchConfigMaps(a.user("default"), a.ns) })
	w.Kubectl(t, "delete", "namespace", a.ns, "--timeout="+patience.String())
}

// TestANamespaceOfATenantWithAReleaseCanBeDeleted: the stored releases go with it, as its objects do, and cannot be read any more.
func TestANamespaceOfATenantWithAReleaseCanBeDeleted(t *testing.T) {
	w, a, _ := tenants(t, map[string]string{
		"charts/web/Chart.yaml":       "{apiVersion: v2, name: web, version: 1.0.0}\n",
		"charts/web/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}\n",
	})
	a.lets("default", a.ns, `{apiGroups: [""], resources: [configmaps, secrets], verbs: ["*"]}`)
	a.release("web", "")
	a.released("web", 1, "1.0.0")
	a.kubectl("delete", "rolebinding", "tenant-of-"+a.ns)
	a.until("the rights to be gone", func() bool { return !a.mayPatchConfigMaps(a.user("default"), a.ns) })
	w.Kubectl(t, "delete", "namespace", a.ns, "--timeout="+patience.String())
}

func TestAReferenceAcrossNamespacesIsBlocked(t *testing.T) {
	_, a, b := tenants(t, map[string]string{
		"app/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}\n",
	})
	a.source("repo", "interval: 1h\nref: {branch: main}\nurl: file://"+a.repo.Dir)
	b.Apply(t, strings.Replace(b.manifest("app", "./app", defaultSpec), "name: repo}\n  ", "name: repo, namespace: "+a.ns+"}\n  ", 1))
	t.Cleanup(b.removeApps)
	want := "can't access 'GitRepository/" + a.ns + "/repo', cross-namespace references have been blocked"
	for _, kind := range []string{"Ready", "Stalled"} {
		said := b.condition("app", kind, func(c map[string]any, _ *unstructured.Unstructured) bool { return c["reason"] == "AccessDenied" })
		if said != want {
			t.Errorf("%s says %q, want %q", kind, said, want)
		}
	}
}

func TestAnApplicationOfATenantDeploysToItsOwnNamespaceAlone(t *testing.T) {
	w, a, b := tenants(t, map[string]string{
		"app/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}\n",
	})
	a.lets("default", a.ns, allOfConfigMaps)
	a.lets("default", b.ns, allOfConfigMaps)
	a.application("own", "app", automated)
	a.inSync("own")
	a.Apply(t, strings.ReplaceAll(a.applicationText("elsewhere", "app", automated), "namespace: "+a.ns+"}\n  sync", "namespace: "+b.ns+"}\n  sync"))
	a.argoCondition("elsewhere", "InvalidSpecError", "can't deploy to namespace "+b.ns)
	w.Apply(t, strings.ReplaceAll(w.applicationText("admins", "app", automated), "namespace: "+w.ns+"}\n  sync", "namespace: "+b.ns+"}\n  sync"))
	t.Cleanup(w.removeApps)
	w.inSync("admins")
	if b.get(configmaps, "cm") == nil {
		t.Error("the administrators' Application has deployed nothing")
	}
	if got := a.users("configmaps"); !slices.Equal(got, []string{a.user("default")}) {
		t.Errorf("requests about the tenant's objects were made as %v", got)
	}
}

// TestAPermissionThatComesLateIsFound is about an app whose RoleBinding another app applies a moment later: no event says so, and its
// interval is an hour.
func TestAPermissionThatComesLateIsFound(t *testing.T) {
	_, a, _ := tenants(t, map[string]string{"ours/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: NS-A}, data: {k: git}}\n"})
	a.app("ours", "./ours", defaultSpec)
	a.fails("ours", `cannot patch resource "configmaps"`)
	a.lets("default", a.ns, allOfConfigMaps)
	a.ready("ours")
}

// TestAProjectOfAnotherTenantBoundsNoApplication: one that admits all namespaces neither stops the Applications of the administrators' project of its name, nor
// gives one of them the rights of an account that it names.
func TestAProjectOfAnotherTenantBoundsNoApplication(t *testing.T) {
	w, a, b := tenants(t, map[string]string{
		"app/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}\n",
	})
	a.lets("default", a.ns, allOfConfigMaps)
	const all = `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}], sourceNamespaces: ["*"]`
	w.project("team", all)
	b.project("team", all+`, destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "`+w.ns+`:default"}]`)
	b.project("open", all+`, destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "`+w.ns+`:default"}]`)
	in := func(name, project string) string {
		return replace(t, a.applicationText(name, "app", automated), "project: default", "project: "+project)
	}
	a.Apply(t, in("web", "team"))
	t.Cleanup(a.removeApps)
	a.inSync("web")
	a.Apply(t, in("greedy", "open"))
	a.argoCondition("greedy", "InvalidSpecError", "Application referencing project open which does not exist")
	if got := a.users("configmaps"); !slices.Equal(got, []string{a.user("default")}) {
		t.Errorf("requests about the tenant's objects were made as %v", got)
	}
}

// TestATenantKeepsNoReleaseFromAnotherByNamingIt: the HelmRelease of the namespace where the release is stored has it, although the other one is older.
func TestATenantKeepsNoReleaseFromAnotherByNamingIt(t *testing.T) {
	_, a, b := tenants(t, map[string]string{
		"charts/web/Chart.yaml":       "{apiVersion: v2, name: web, version: 1.0.0}\n",
		"charts/web/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}\n",
	})
	a.lets("default", a.ns, `{apiGroups: [""], resources: [configmaps, secrets], verbs: ["*"]}`)
	b.release("greedy", "  releaseName: web\n  storageNamespace: "+a.ns+"\n")
	b.helmFails("greedy", "cannot list resource")
	b.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: younger, namespace: %s}}", b.ns))
	b.until("the next HelmRelease to be younger", b.secondPasses("younger"))
	a.release("web", "")
	a.released("web", 1, "1.0.0")
}
