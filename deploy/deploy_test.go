package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// installed returns an API server on which everything of this directory has been applied.
func installed(t *testing.T) *kubetest.Cluster {
	t.Helper()
	c := kubetest.Start(t)
	c.Kubectl(t, "apply", "--server-side", "-k", ".")
	c.Established(t, "kustomizations.kustomize.toolkit.fluxcd.io", "gitrepositories.source.toolkit.fluxcd.io")
	return c
}

func TestTheBaseRunsUnderTheRestrictedStandard(t *testing.T) {
	c := installed(t)
	c.Kubectl(t, "-n", "truce-system", "rollout", "status", "deployment/truce", "--timeout=180s")
	for _, may := range []struct {
		verb, group, resource string
		want                  bool
	}{
		{"create", "", "secrets", true}, {"patch", "apps", "deployments", true}, {"create", "story.example", "gadgets", true},
		{"escalate", "rbac.authorization.k8s.io", "clusterroles", false}, {"bind", "rbac.authorization.k8s.io", "clusterroles", false},
		{"impersonate", "", "users", false}, {"impersonate", "", "serviceaccounts", false}, {"deletecollection", "", "secrets", false},
	} {
		if got := allowed(t, c, may.verb, may.group, may.resource); got != may.want {
			t.Errorf("truce may %s %s.%s: %v, want %v", may.verb, may.resource, may.group, got, may.want)
		}
	}
}

// TestTheControllersRoleReachesItsOwnServicesAlone: without the role for the objects in Git, no admission of others can be changed, and no Service be led elsewhere.
func TestTheControllersRoleReachesItsOwnServicesAlone(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	c.Apply(t, strings.NewReplacer("truce-controller", ns, "namespace: truce-system", "namespace: "+ns).Replace(c.Kubectl(t, "kustomize", "rbac/controller")))
	defer c.Kubectl(t, "delete", "clusterrole,clusterrolebinding", ns)
	home, err := os.ReadFile("base/home.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, strings.NewReplacer("metadata:\n", "metadata:\n  namespace: "+ns+"\n", "namespace: truce-system", "namespace: "+ns).Replace(string(home)))
	const admission, discovery = "admissionregistration.k8s.io", "discovery.k8s.io"
	for _, may := range []struct {
		want     bool
		resource authorization.ResourceAttributes
	}{
		{true, authorization.ResourceAttributes{Verb: "patch", Group: admission, Resource: "validatingwebhookconfigurations", Name: "truce-witness-truce-system"}},
		{true, authorization.ResourceAttributes{Verb: "create", Group: admission, Resource: "validatingwebhookconfigurations", Name: "truce-witness-truce-system"}},
		{false, authorization.ResourceAttributes{Verb: "patch", Group: admission, Resource: "validatingwebhookconfigurations", Name: "gatekeeper"}},
		{false, authorization.ResourceAttributes{Verb: "delete", Group: admission, Resource: "validatingwebhookconfigurations", Name: "gatekeeper"}},
		{false, authorization.ResourceAttributes{Verb: "patch", Group: admission, Resource: "mutatingwebhookconfigurations", Name: "gatekeeper"}},
		{true, authorization.ResourceAttributes{Verb: "patch", Group: discovery, Resource: "endpointslices", Name: "truce-webhook", Namespace: ns}},
		{false, authorization.ResourceAttributes{Verb: "patch", Group: discovery, Resource: "endpointslices", Name: "kubernetes", Namespace: "default"}},
		{false, authorization.ResourceAttributes{Verb: "create", Group: discovery, Resource: "endpointslices", Namespace: "default"}},
	} {
		if got := allows(t, c, ns, may.resource); got != may.want {
			t.Errorf("truce may %s %s.%s %s: %v, want %v", may.resource.Verb, may.resource.Resource, may.resource.Group, may.resource.Name, got, may.want)
		}
	}
}

// allowed asks the API server what truce's account may do.
func allowed(t *testing.T, c *kubetest.Cluster, verb, group, resource string) bool {
	t.Helper()
	return allows(t, c, "truce-system", authorization.ResourceAttributes{Group: group, Resource: resource, Verb: verb})
}

// allows asks the API server about the account of a namespace.
func allows(t *testing.T, c *kubetest.Cluster, namespace string, what authorization.ResourceAttributes) bool {
	t.Helper()
	client, err := authorizationclient.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.SubjectAccessReviews().Create(t.Context(), &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + namespace + ":truce", Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &what,
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// TestTheServerTakesEveryOverlay applies each as a dry run: the fields are known, and the pods fit the namespace's standard.
func TestTheServerTakesEveryOverlay(t *testing.T) {
	c := installed(t)
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}")
	overlays, err := os.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range overlays {
		c.Kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=test", "--force-conflicts", "-k", "overlays/"+o.Name())
	}
	c.Kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--field-manager=test", "--force-conflicts", "-f", "install.yaml")
}

func TestTheServerKeepsTheFieldsOfTheDocuments(t *testing.T) {
	c := installed(t)
	ns := c.Namespace(t)
	for _, path := range []string{
		"../examples/incidents/hpa-fight/kustomization.yaml", "../examples/incidents/hpa-fight/kustomization-broad.yaml",
		"../examples/incidents/manual-scale/gotk-sync.yaml", "../examples/demo/clusters/demo/cart.yaml",
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "namespace: flux-system", "namespace: "+ns)
		var written object.Object
		if err := yaml.Unmarshal([]byte(text), &written); err != nil {
			t.Fatal(err)
		}
		c.Apply(t, text)
		stored := get(t, c, ns, "ks", written.Name())
		spec := stored["spec"].(map[string]any)
		delete(spec, "force") // Flux's schema sets it to false
		if diff := cmp.Diff(written["spec"], spec); diff != "" {
			t.Errorf("%s (-written +stored):\n%s", path, diff)
		}
		a := flux.Kustomizations{}.App(stored, policy.Policy{})
		if len(a.Problems) > 0 || len(a.Notes) > 0 {
			t.Errorf("%s: problems %q, notes %q", path, a.Problems, a.Notes)
		}
	}
	if drops := (flux.Definitions{}).DroppedFields(get(t, c, "", "crd", "kustomizations.kustomize.toolkit.fluxcd.io")); drops != nil {
		t.Errorf("our own CRD drops %q", drops)
	}
}

func TestTheServerKeepsWhatAnApplicationSays(t *testing.T) {
	c := installed(t)
	c.Established(t, "applications.argoproj.io")
	ns := c.Namespace(t)
	data, err := os.ReadFile("../examples/incidents/hpa-fight/application.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "namespace: argocd", "namespace: "+ns)
	text += "  futureField: {kept: true}\noperation: {sync: {revision: main}, other: 1}\n"
	var written object.Object
	if err := yaml.Unmarshal([]byte(text), &written); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, text)
	stored := get(t, c, ns, "applications.argoproj.io", "grokdevops")
	for _, key := range []string{"spec", "operation"} {
		if diff := cmp.Diff(written[key], stored[key]); diff != "" {
			t.Errorf("%s (-written +stored):\n%s", key, diff)
		}
	}
	a := argocd.Applications{}.App(stored, policy.Policy{})
	if len(a.Problems) > 0 || len(a.Notes) != 1 || a.SyncRequest.Revision != "main" {
		t.Errorf("problems %q, notes %q, order %+v", a.Problems, a.Notes, a.SyncRequest)
	}
	c.Kubectl(t, "-n", ns, "patch", "applications.argoproj.io", "grokdevops", "--type=merge", "-p", `{"status":{"sync":{"status":"Synced"},"health":{"status":"Healthy"}}}`)
	got := strings.Join(strings.Fields(c.Kubectl(t, "-n", ns, "get", "apps")), " ")
	if want := "NAME SYNC STATUS HEALTH STATUS MESSAGE grokdevops Synced Healthy"; got != want {
		t.Errorf("kubectl get apps: %s, want %s", got, want)
	}
	c.Kubectl(t, "-n", ns, "patch", "applications.argoproj.io", "grokdevops", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

func TestAnotherOperationReachesUsToBeRefused(t *testing.T) {
	c := installed(t)
	ns := c.Namespace(t)
	c.Apply(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: replace, namespace: `+ns+`}
spec:
  interval: 10m
  prune: true
  sourceRef: {kind: GitRepository, name: a}
  ignoreDifferences:
  - jsonPatches: [{op: replace, path: /spec/replicas, value: 5}]`)
	a := flux.Kustomizations{}.App(get(t, c, ns, "ks", "replace"), policy.Policy{})
	want := []app.Problem{{
		Field: "spec.ignoreDifferences[0].jsonPatches[0].op", Reason: "op replace would set a value; only remove has a meaning here",
	}}
	if diff := cmp.Diff(want, a.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKubectlGetTellsTheTruth(t *testing.T) {
	c := installed(t)
	ns := c.Namespace(t)
	c.Apply(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: `+ns+`}
spec: {interval: 10m, prune: true, sourceRef: {kind: GitRepository, name: web}}`)
	c.Apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: web, namespace: `+ns+`}
spec: {interval: 1m, url: /srv/git/web}`)

	ks := get(t, c, ns, "ks", "web")
	if got := ks.At("status", "observedGeneration"); got != int64(-1) {
		t.Errorf("observedGeneration of a new Kustomization = %v, want -1", got)
	}
	now := time.Now()
	setStatus(t, c, ks, flux.Kustomizations{}.Status(ks, report.Report{
		Generation: ks.Generation(), Revision: "main@sha1:aaa", Applied: "main@sha1:aaa", Stage: report.Done, Reason: report.Succeeded, At: now,
		Objects: []report.Object{{ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1", Applied: true}},
	}))
	repository := get(t, c, ns, "gitrepo", "web")
	setStatus(t, c, repository, flux.GitRepositories{}.Status(repository, dialect.SourceState{
		Generation: repository.Generation(), Artifact: source.Artifact{Revision: "main@sha1:aaa", Digest: "sha256:00"}, At: now,
	}))

	for kind, want := range map[string]string{
		"ks":      "NAME AGE READY STATUS | web * True Applied revision: main@sha1:aaa",
		"gitrepo": "NAME URL AGE READY STATUS | web /srv/git/web * True stored artifact for revision 'main@sha1:aaa'",
	} {
		head, row, _ := strings.Cut(strings.TrimSpace(c.Kubectl(t, "-n", ns, "get", kind)), "\n")
		row = strings.Join(strings.Fields(age.ReplaceAllString(row, " * ")), " ")
		if line := strings.Join(strings.Fields(head), " ") + " | " + row; line != want {
			t.Errorf("kubectl get %s:\n%s\nwant\n%s", kind, line, want)
		}
	}
	c.Kubectl(t, "-n", ns, "wait", "--for=condition=Ready", "ks/web", "gitrepo/web", "--timeout=5s")
}

var age = regexp.MustCompile(` (\d+[smh])+ `)

func get(t *testing.T, c *kubetest.Cluster, ns, kind, name string) object.Object {
	t.Helper()
	args := []string{"get", kind, name, "-o", "yaml"}
	if ns != "" {
		args = append(args, "-n", ns)
	}
	var o map[string]any
	if err := yaml.Unmarshal([]byte(c.Kubectl(t, args...)), &o); err != nil {
		t.Fatal(err)
	}
	if generation, ok := object.Object(o).At("metadata", "generation").(float64); ok {
		object.Object(o).Metadata()["generation"] = int64(generation)
	}
	if status, ok := o["status"].(map[string]any); ok {
		if n, ok := status["observedGeneration"].(float64); ok {
			status["observedGeneration"] = int64(n)
		}
	}
	return o
}

func setStatus(t *testing.T, c *kubetest.Cluster, o object.Object, status map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	kind := strings.ToLower(o.GVK().Kind) + "." + o.GVK().Group
	c.Kubectl(t, "-n", o.Namespace(), "patch", kind, o.Name(), "--subresource=status", "--type=merge", "-p", string(patch))
}

// TestACheckBeforeAndAfterAnInstallation runs the command without a controller, with one, and with one that lacks a role.
func TestACheckBeforeAndAfterAnInstallation(t *testing.T) {
	c, bin := installed(t), truceProgram(t)
	// The apps of other tests go with their namespaces, and some may be there still.
	c.Kubectl(t, "delete", "applications.argoproj.io,kustomizations.kustomize.toolkit.fluxcd.io", "--all", "-A", "--timeout=120s")
	check := func() (int, map[string]string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bin, "check", "-o", "json")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
		out, err := cmd.Output()
		var answer struct {
			Findings []struct{ Check, Severity, Subject, Message string }
		}
		if decodeErr := json.Unmarshal(out, &answer); decodeErr != nil {
			t.Fatalf("%v, %v: %s", err, decodeErr, out)
		}
		worst := map[string]string{}
		for _, f := range answer.Findings {
			t.Logf("%+v", f)
			if f.Severity != "ok" {
				worst[f.Check] = f.Severity + " " + f.Message
			}
		}
		return cmd.ProcessState.ExitCode(), worst
	}
	c.Kubectl(t, "-n", "truce-system", "rollout", "status", "deployment/truce", "--timeout=180s")
	if code, worst := check(); code != 0 || len(worst) > 0 {
		t.Errorf("installed: exit code %d, %q", code, worst)
	}
	app := func(account string) {
		t.Helper()
		c.Apply(t, "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: tenant, namespace: default}, "+
			"spec: {interval: 1h, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: none}, serviceAccountName: "+account+"}}")
	}
	app("tenant")
	if code, worst := check(); code != 0 || worst["permissions"] != "warning may not impersonate serviceaccounts (to act as the service accounts of apps): apps with a service account fail" {
		t.Errorf("an app with an account: exit code %d, %q", code, worst)
	}
	c.Kubectl(t, "-n", "default", "delete", "kustomization.kustomize.toolkit.fluxcd.io/tenant")
	flag := func(op string) {
		t.Helper()
		c.Kubectl(t, "-n", "truce-system", "patch", "deployment", "truce", "--type=json", "-p", `[{"op":"`+op+`","path":"/spec/template/spec/containers/0/args/0","value":"--multi-tenant"}]`)
	}
	flag("add")
	if code, worst := check(); code != 1 || worst["permissions"] != "problem may not impersonate serviceaccounts (to act as the service accounts of apps, because of --multi-tenant)" {
		t.Errorf("for tenants: exit code %d, %q", code, worst)
	}
	flag("remove")
	c.Kubectl(t, "delete", "clusterrolebinding", "truce-controller", "truce-objects")
	if code, worst := check(); code != 1 || !strings.Contains(worst["permissions"], "may not") {
		t.Errorf("without a role: exit code %d, %q", code, worst)
	}
	c.Kubectl(t, "-n", "truce-system", "delete", "deployment", "truce")
	if code, worst := check(); code != 0 || len(worst) != 1 || !strings.Contains(worst["controller"], "truce is not installed") {
		t.Errorf("not installed: exit code %d, %q", code, worst)
	}
	cmd := exec.CommandContext(t.Context(), bin, "check", "--as", "jane")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "you, to install truce: may not create deployments.apps") {
		t.Errorf("a user without permissions: exit code %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestTheWitnessIsAComponent builds the base with the components of the page, the witness and webhooks beside it, as an overlay of a user's does.
func TestTheWitnessIsAComponent(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/deploy", os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/overlay", 0o700); err != nil {
		t.Fatal(err)
	}
	text := "resources: [../deploy]\ncomponents: [../deploy/page, ../deploy/witness, ../deploy/webhook]\n"
	if err := os.WriteFile(dir+"/overlay/kustomization.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := kubetest.Start(t)
	built := c.Kubectl(t, "kustomize", dir+"/overlay")
	for _, want := range []string{"- --witness\n", "- --witness-service=truce-system/truce-witness\n", "fieldPath: status.podIP", "name: truce-witness", "- --leader-elect\n", "- --webhook-addr=0.0.0.0:9292\n", "- --webhook-service=truce-system/truce-webhook\n", "name: truce-webhook", "- --page-service=truce-system/truce-page\n", "name: truce-page"} {
		if !strings.Contains(built, want) {
			t.Errorf("no %q", want)
		}
	}
}
