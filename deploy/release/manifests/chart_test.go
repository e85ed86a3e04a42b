package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const deploy = "../.."

// TestGenerationChangesNothing compares what is committed with what would be written.
func TestGenerationChangesNothing(t *testing.T) {
	want, err := manifests(deploy)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range roleFiles() {
		want[name] = text
	}
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(deploy, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(text)); diff != "" {
			t.Errorf("deploy/%s: run make gen (-committed +generated):\n%s", name, diff)
		}
	}
}

type values = map[string]any

var on = values{"enabled": true}

// TestTheChartIsWhatTheOverlaysAre renders the chart with the values of each overlay and component: the same objects, but for what Helm adds.
func TestTheChartIsWhatTheOverlaysAre(t *testing.T) {
	noCRDs := values{"flux": false, "argocd": false}
	for name, test := range map[string]struct {
		kustomization string
		values        values
	}{
		"enforce":       {"resources: [../deploy/overlays/enforce]", nil},
		"observe":       {"resources: [../deploy/overlays/observe]", values{"mode": "observe", "crds": noCRDs}},
		"adopt":         {"resources: [../deploy/overlays/adopt]", values{"mode": "adopt", "crds": noCRDs}},
		"witness":       {"resources: [../deploy/overlays/witness]", values{"witness": on}},
		"one namespace": {"resources: [../deploy/overlays/one-namespace]", values{"namespaces": []any{"team-a"}, "crds": noCRDs}},
		"multi-tenant":  {"resources: [../deploy/overlays/multi-tenant]", values{"multiTenant": on}},
		"one namespace of tenants": {
			"resources: [../deploy/overlays/one-namespace, ../deploy/rbac/tenants-one-namespace]\npatches:\n- target: {kind: Deployment, name: truce}\n  patch: |-\n" +
				"    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --multi-tenant}\n",
			values{"namespaces": []any{"team-a"}, "multiTenant": on, "crds": noCRDs},
		},
		"one namespace, without truce's own state in it": {
			"resources: [../deploy/overlays/one-namespace]\npatches:\n- target: {kind: Deployment, name: truce}\n  patch: |-\n" +
				"    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --runtime-namespace=truce-system}\n",
			values{"namespaces": []any{"team-a"}, "runtimeNamespace": "truce-system", "crds": noCRDs},
		},
		"multi-tenant with namespaces of administrators": {
			"resources: [../deploy/overlays/multi-tenant]\npatches:\n- target: {kind: Deployment, name: truce}\n  patch: |-\n" +
				"    - {op: add, path: /spec/template/spec/containers/0/args/-, value: \"--admin-namespaces=infra,platform\"}\n",
			values{"multiTenant": values{"enabled": true, "adminNamespaces": []any{"infra", "platform"}}},
		},
		"components": {
			"resources: [../deploy/overlays/enforce]\ncomponents: [../deploy/page, ../deploy/webhook, ../deploy/servicemonitor, ../deploy/persistent]",
			values{"page": on, "webhook": on, "serviceMonitor": on, "persistence": on},
		},
		"beside Flux": {
			"resources: [../deploy/overlays/observe-beside-flux]", values{"mode": "observe", "crds": values{"flux": false}},
		},
		"beside Argo CD": {
			"resources: [../deploy/overlays/observe-beside-argocd]", values{"mode": "observe", "crds": values{"argocd": false}},
		},
		"cluster-admin": {
			"resources: [../deploy/crds, ../deploy/base, ../deploy/rbac/controller, ../deploy/rbac/cluster-admin]", values{"rbac": values{"objects": "cluster-admin"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(deploy)); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, "overlay"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "overlay/kustomization.yaml"), []byte(test.kustomization), 0o600); err != nil {
				t.Fatal(err)
			}
			built, err := kustomizeBuild(filepath.Join(dir, "overlay"))
			if err != nil {
				t.Fatal(err)
			}
			want := objects(t, built)
			delete(want, "Namespace/truce-system") // helm install --create-namespace
			if diff := cmp.Diff(want, objects(t, template(t, test.values))); diff != "" {
				t.Errorf("(-kustomize +helm):\n%s", diff)
			}
		})
	}
}

// objects are those of a YAML text by kind and name, without what Helm adds.
func objects(t *testing.T, text string) map[string]values {
	t.Helper()
	out := map[string]values{}
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o values
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if o == nil {
			continue
		}
		meta := o["metadata"].(values)
		if a, ok := meta["annotations"].(values); ok && o["kind"] == "CustomResourceDefinition" {
			if delete(a, "helm.sh/resource-policy"); len(a) == 0 {
				delete(meta, "annotations")
			}
		}
		key := fmt.Sprintf("%s/%s", o["kind"], meta["name"])
		if out[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		out[key] = o
	}
	imageAt(out["Deployment/truce"])
	return out
}

// imageAt gives a Deployment without a tag that of the chart.
func imageAt(d values) {
	containers := d["spec"].(values)["template"].(values)["spec"].(values)["containers"].([]any)
	if c := containers[0].(values); c["image"] == "truce" {
		c["image"] = "truce:" + version()
	}
}

func version() string {
	text, err := os.ReadFile(filepath.Join(deploy, "VERSION"))
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

func load(t *testing.T, dir string) *chartv2.Chart {
	t.Helper()
	c, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// template is `helm template truce deploy/chart`.
func template(t *testing.T, v values) string {
	t.Helper()
	got, err := offline(t, v)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*releasev1.Release).Manifest
}

func offline(t *testing.T, v values) (release.Releaser, error) {
	t.Helper()
	install := action.NewInstall(new(action.Configuration))
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, "truce", "truce-system"
	install.KubeVersion = &common.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	return install.Run(load(t, filepath.Join(deploy, "chart")), v)
}

// TestTheSchemaRefusesWhatTheChartDoesNotKnow gives values with a typo, of a wrong type and of an unknown word.
func TestTheSchemaRefusesWhatTheChartDoesNotKnow(t *testing.T) {
	for name, v := range map[string]values{
		"a typo": {"replica": 2}, "a type": {"replicas": "2"}, "a word": {"mode": "observer"}, "a digest": {"image": values{"digest": "latest"}},
		"a namespace": {"namespaces": []any{"Team A"}}, "a namespace for truce's state": {"runtimeNamespace": "Team A"},
	} {
		if _, err := offline(t, v); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheChartRefusesWhatItsRolesDoNotFit: a truce that may write although its values say that it may not, and parts that cannot work.
func TestTheChartRefusesWhatItsRolesDoNotFit(t *testing.T) {
	some := []any{"team-a"}
	for want, v := range map[string]values{
		"mode=observe with namespaces":      {"mode": "observe", "namespaces": some},
		"rbac.objects=none with namespaces": {"rbac": values{"objects": "none"}, "namespaces": some},
		"runtimeNamespace=elsewhere":        {"runtimeNamespace": "elsewhere", "namespaces": some},
		"page.enabled with namespaces":      {"page": on, "namespaces": some},
		"witness.enabled with namespaces":   {"witness": on, "namespaces": some},
		"webhook.enabled with namespaces":   {"webhook": on, "namespaces": some},
		"webhook.enabled with mode=observe": {"webhook": on, "mode": "observe"},
		"witness.enabled with mode=observe": {"witness": on, "mode": "observe"},
	} {
		if _, err := offline(t, v); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rbac.create=false") {
			t.Errorf("%s: %v", want, err)
		}
		v["rbac"] = values{"create": false}
		if _, err := offline(t, v); err != nil {
			t.Errorf("%s, with roles of the user's own: %v", want, err)
		}
	}
}

// TestAppsWithAnAccountMayBeInstalledWithoutTenants: truce impersonates the accounts that apps name.
func TestAppsWithAnAccountMayBeInstalledWithoutTenants(t *testing.T) {
	const role = "ClusterRole/truce-tenants"
	if out := objects(t, template(t, values{})); out[role] != nil {
		t.Error("the role is there by default")
	}
	if out := objects(t, template(t, values{"rbac": values{"tenants": true}})); out[role] == nil {
		t.Errorf("no role of tenants in %v", slices.Sorted(maps.Keys(out)))
	}
}

// TestNothingIsPermittedOutsideOfTheNamespaces: where the values name some, truce acts as the accounts of these alone, whatever else is asked for.
func TestNothingIsPermittedOutsideOfTheNamespaces(t *testing.T) {
	for name, v := range map[string]values{
		"namespaces alone": {}, "tenants": {"multiTenant": on}, "apps with accounts": {"rbac": values{"tenants": true}},
	} {
		v["namespaces"] = []any{"team-a"}
		for key := range objects(t, template(t, v)) {
			if strings.HasPrefix(key, "ClusterRoleBinding/") {
				t.Errorf("%s: %s", name, key)
			}
		}
	}
}

// TestTheStateLiesInTheNamespaceOfTheRelease: with namespaces and runtimeNamespace the flag and the Role agree, and without it there is no flag.
func TestTheStateLiesInTheNamespaceOfTheRelease(t *testing.T) {
	const flag = "--runtime-namespace=truce-system"
	for name, given := range map[string]string{"without": "", "with": "truce-system"} {
		out := objects(t, template(t, values{"namespaces": []any{"team-a"}, "runtimeNamespace": given}))
		if in := out["Role/truce-home"]["metadata"].(values)["namespace"]; in != "truce-system" {
			t.Errorf("%s runtimeNamespace the Role truce-home is in namespace %v", name, in)
		}
		pod := out["Deployment/truce"]["spec"].(values)["template"].(values)["spec"].(values)
		args := pod["containers"].([]any)[0].(values)["args"].([]any)
		if got := slices.Contains(args, any(flag)); got != (given != "") {
			t.Errorf("%s runtimeNamespace the flags are %v", name, args)
		}
	}
}

// TestTheDocumentsNameEveryDefinition: who installs truce beside another tool learns here which kinds it brings, and who removes it which go.
func TestTheDocumentsNameEveryDefinition(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(deploy, "../docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `enforce` .*$").FindString(string(page))
	for name, d := range objects(t, template(t, values{})) {
		if !strings.HasPrefix(name, "CustomResourceDefinition/") {
			continue
		}
		kind := d["spec"].(values)["names"].(values)["kind"].(string)
		if !regexp.MustCompile(`\b` + kind + `\b`).MatchString(row) {
			t.Errorf("docs/install.md says nothing of %s", kind)
		}
	}
}

// TestAReleaseIsInstalledUpgradedAndUninstalled installs the previous commit's chart, upgrades it to this one, and uninstalls it: the
// CustomResourceDefinitions and the custom resources stay.
func TestAReleaseIsInstalledUpgradedAndUninstalled(t *testing.T) {
	c := kubetest.Start(t)
	c.Kubectl(t, "create", "namespace", "helm-truce")
	config := configuration(t, c, "helm-truce")
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "truce", "helm-truce", kube.HookOnlyStrategy
	if _, err := install.RunWithContext(t.Context(), load(t, previous(t)), nil); err != nil {
		t.Fatal(err)
	}
	c.Established(t, "kustomizations.kustomize.toolkit.fluxcd.io")
	c.Kubectl(t, "-n", "helm-truce", "rollout", "status", "deployment/truce", "--timeout=120s")
	c.Apply(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: helm-truce}
spec: {interval: 10m, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: web}}`)

	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.WaitStrategy = "helm-truce", kube.HookOnlyStrategy
	if _, err := upgrade.RunWithContext(t.Context(), "truce", load(t, filepath.Join(deploy, "chart")), values{"mode": "observe", "replicas": 1}); err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "-n", "helm-truce", "rollout", "status", "deployment/truce", "--timeout=120s")
	for verb, want := range map[string]bool{"patch": false, "get": true} {
		if got := may(t, c, verb, "deployments"); got != want {
			t.Errorf("in mode observe, may truce %s Deployments? %v, want %v", verb, got, want)
		}
	}
	for _, kinds := range []string{"all-kinds", "cluster-admin", "all-kinds"} {
		upgrade := action.NewUpgrade(config)
		upgrade.Namespace, upgrade.WaitStrategy = "helm-truce", kube.HookOnlyStrategy
		if _, err := upgrade.RunWithContext(t.Context(), "truce", load(t, filepath.Join(deploy, "chart")), values{"rbac": values{"objects": kinds}, "replicas": 1}); err != nil {
			t.Errorf("rbac.objects=%s: %v", kinds, err)
		}
		if got, want := may(t, c, "deletecollection", "deployments"), kinds == "cluster-admin"; got != want {
			t.Errorf("with rbac.objects=%s, may truce delete collections? %v, want %v", kinds, got, want)
		}
	}

	uninstall := action.NewUninstall(config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run("truce"); err != nil {
		t.Fatal(err)
	}
	left := c.Kubectl(t, "get", "crd", "-o", "name") + c.Kubectl(t, "-n", "helm-truce", "get", "kustomizations,deployments,serviceaccounts", "-o", "name")
	for want, there := range map[string]bool{
		"/kustomizations.kustomize.toolkit.fluxcd.io\n": true, "/applications.argoproj.io\n": true, "kustomization.kustomize.toolkit.fluxcd.io/web\n": true,
		"deployment.apps/truce\n": false, "serviceaccount/truce\n": false,
	} {
		if strings.Contains(left, want) != there {
			t.Errorf("%q is left: %v, want %v", want, !there, there)
		}
	}
}

// may asks the API server what truce's account may do with a kind of apps/v1.
func may(t *testing.T, c *kubetest.Cluster, verb, resource string) bool {
	t.Helper()
	client, err := authorizationclient.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.SubjectAccessReviews().Create(t.Context(), &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:helm-truce:truce",
		ResourceAttributes: &authorization.ResourceAttributes{Group: "apps", Resource: resource, Verb: verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// previous is a directory with the chart of the commit before this one, or this one's where that had none.
func previous(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	archive := exec.CommandContext(t.Context(), "git", "-C", deploy, "archive", "--format=tar", "HEAD^", "chart")
	var tar, stderr bytes.Buffer
	archive.Stdout, archive.Stderr = &tar, &stderr
	if err := archive.Run(); err != nil {
		t.Logf("the previous commit has no chart, its own is upgraded: %v %s", err, stderr.String())
		return filepath.Join(deploy, "chart")
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	unpack.Stdin = &tar
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "chart")
}

// configuration is Helm's, for a namespace.
func configuration(t *testing.T, c *kubetest.Cluster, namespace string) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &c.Kubeconfig, &namespace
	config := new(action.Configuration)
	if err := config.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return config
}
