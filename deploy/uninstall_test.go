package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestThePagesCommandsKeepWhatIsInTheNamespace installs what grants most, puts into truce-system what administrators have there, and runs the
// commands that docs/uninstall.md begins with.
func TestThePagesCommandsKeepWhatIsInTheNamespace(t *testing.T) {
	c := kubetest.Start(t)
	c.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", "overlays/multi-tenant")
	c.Kubectl(t, "apply", "--server-side", "-k", "rbac/observe")
	c.Established(t, "kustomizations.kustomize.toolkit.fluxcd.io")
	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: truce-system}}")
	c.Apply(t, "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: kept, namespace: truce-system}, "+
		"spec: {interval: 1h, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: none}}}")

	block, _, _ := strings.Cut(strings.TrimPrefix(uninstallPage(t), "# Uninstall\n\n```\n"), "```")
	for _, command := range regexp.MustCompile(`kubectl [^#;\n]+`).FindAllString(block, -1) {
		c.Kubectl(t, strings.Fields(strings.ReplaceAll(command, "-k deploy/", "-k "))[1:]...)
	}

	const kept = "configmap/kept\nkustomization.kustomize.toolkit.fluxcd.io/kept\n"
	if got := c.Kubectl(t, "-n", "truce-system", "get", "--ignore-not-found", "-o", "name", "configmap/kept", "kustomizations.kustomize.toolkit.fluxcd.io/kept"); got != kept {
		t.Errorf("of what administrators have in truce-system there is left: %q", got)
	}
	if phase := c.Kubectl(t, "get", "namespace", "truce-system", "--ignore-not-found", "-o", "jsonpath={.status.phase}"); phase != "Active" {
		t.Errorf("the namespace is %q", phase)
	}
	const own = "deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,networkpolicies,poddisruptionbudgets"
	if left := c.Kubectl(t, "-n", "truce-system", "get", own, "-l", "app.kubernetes.io/name=truce", "-o", "name"); left != "" {
		t.Errorf("truce's own is left:\n%s", left)
	}
	c.Kubectl(t, "-n", "truce-system", "delete", "configmap/kept", "kustomizations.kustomize.toolkit.fluxcd.io/kept")
}

// onThePage are objects that deploy/uninstall leaves, and what docs/uninstall.md says of each.
var onThePage = map[string]string{
	"Namespace/truce-system":       "kubectl delete namespace truce-system",
	"ServiceMonitor/truce":         "delete servicemonitor truce",                              // a cluster may not have the kind
	"RoleBinding/truce-controller": "rolebinding truce-controller truce-objects truce-tenants", // in a namespace of the user's
	"RoleBinding/truce-objects":    "rolebinding truce-controller truce-objects truce-tenants",
	"RoleBinding/truce-tenants":    "rolebinding truce-controller truce-objects truce-tenants",
}

// TestEveryInstalledObjectIsUninstalled looks at all files of the base, the roles and the components.
func TestEveryInstalledObjectIsUninstalled(t *testing.T) {
	built, page := map[string]bool{}, uninstallPage(t)
	for _, o := range documentsOf(t, kubetest.Start(t).Kubectl(t, "kustomize", "uninstall")) {
		built[o.GVK().Kind+"/"+o.Name()] = true
		if kind := o.GVK().Kind; kind == "Namespace" || kind == "CustomResourceDefinition" {
			t.Errorf("deploy/uninstall deletes %s %s, and what is in it", kind, o.Name())
		}
	}
	for _, path := range installedFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range documentsOf(t, string(text)) {
			name := o.GVK().Kind + "/" + o.Name()
			if named := onThePage[name]; !built[name] && (named == "" || !strings.Contains(page, named)) {
				t.Errorf("%s: neither deploy/uninstall nor docs/uninstall.md removes %s", path, name)
			}
		}
	}
}

// installedFiles are those that kustomizations name as resources, but for the CustomResourceDefinitions.
func installedFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "crds" || name == "chart" || name == "release" || name == "ci"):
			return fs.SkipDir
		case filepath.Ext(name) == ".yaml" && name != "kustomization.yaml" && name != "install.yaml":
			out = append(out, path)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

func documentsOf(t *testing.T, text string) []object.Object {
	t.Helper()
	var out []object.Object
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if m, ok := o.(map[string]any); ok { // a list is a patch
			out = append(out, m)
		}
	}
	return out
}

func uninstallPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/uninstall.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
