package claim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// writers are those that were found by measuring and in other tools' sources, and the entries that name them. Of the others it
// is said why a catalogue of claims has none.
var writers = map[string]string{
	"hpa-replicas": "hpa", "keda-replicas": "keda", "keda-hpa-object": "keda-hpa", "keda-so-meta": "keda-marks", "keda-pause": "keda-pause",
	"vpa-pods": "vpa vpa-pods", "vpa-status": "vpa-status", "capi-ca": "cluster-autoscaler cluster-autoscaler-write",
	"rollout-nil-replicas": "rollout-replicas", "rollout-containers": "rollout-containers",
	"rollout-svc-selector": "rollout-service rollout-service-mark rollout-annotation",
	"rollout-traffic":      "rollout-virtualservice rollout-managed-routes rollout-destinationrule rollout-httproute rollout-managed-rules rollout-trafficsplit rollout-traefik rollout-apisix rollout-alb",
	"rollout-workloadref":  "rollout-workload", "flagger": "flagger flagger-daemonset flagger-routes",
	"downscaler": "downscaler downscaler-hpa downscaler-cronjob kube-green kube-green-cronjobs", "kueue-suspend": "kueue", "pvc-size": "pvc-size",
	"deploy-revision": "deployment-revision", "ds-generation": "daemonset-generation", "svc-alloc": "service-allocation",
	"svc-defaults": "service-defaults", "svc-lb": "load-balancer", "workload-defaults": "workload-defaults", "sts-vct": "volume-claim-templates",
	"limitrange-atomic": "limitrange-defaults", "job-selector": "job-selector", "pvc-binding": "pvc-binding", "pv-claimref": "pv-claim",
	"ns-meta": "namespace-marks", "ns-platform": "namespace-platform", "sa-secrets": "serviceaccount-tokens",
	"sa-token-secret": "serviceaccount-token-secret", "crd-spec": "crd-names", "crd-conversion-ca": "ca-cert-manager-crd",
	"clusterrole-agg": "clusterrole-aggregation", "hpa-defaults": "hpa-defaults", "hpa-v1-annotations": "hpa-defaults",
	"netpol": "networkpolicy-defaults", "webhookcfg-defaults": "webhook-defaults", "ingress-class": "ingress-class", "pod-runtime": "pod-runtime",
	"ca-cainjector": "ca-cert-manager ca-cert-manager-api ca-injected", "ca-certgen": "ca-injected", "ca-istiod": "ca-injected istiod",
	"ca-opa": "ca-injected", "ca-eck": "ca-injected", "aks-enforcer": "aks-enforcer", "knative-rules": "knative-webhooks",
	"kyverno-webhooks": "kyverno-webhooks", "gke-autopilot": "gke-autopilot", "sidecars": "sidecars", "crd-defaults": "external-secret-defaults",
	"kyverno-policy": "kyverno-policies", "knative-svc": "knative-service", "crossplane-lateinit": "crossplane-late-init",
	"crossplane-refs": "crossplane-refs crossplane-choices", "reloader": "reloader", "rollout-restart": "rollout-restart rollout-restart-at",
	"rancher-meta": "rancher-marks", "gke-neg": "gke-marks", "secretgen": "secretgen",
	"sealed/es secrets": "external-secret external-secret-keys sealed-secret cert-manager-certificate", "ocp-images": "image-automation",
	"kubectl-verbs": "kubectl last-applied", "ui-clients": "consoles", "generic-operators": "unnamed-controllers", "pseudo": "server-pseudo",
	"gitops-tools": "deployers", "gc-meta": "garbage-collection",
}

// unrecognisable writers leave nothing by which they could be recognised: the baseline values of an apply hold what they make of it.
var unrecognisable = map[string]string{
	"secret-stringdata": "normalised before an apply", "secret-b64": "normalised before an apply", "quantity": "normalised before an apply",
	"null-fields": "normalised before an apply", "empty-values": "normalised before an apply", "creation-ts": "normalised before an apply",
	"mutating-any": "any webhook: told by the settled value alone",
}

// additional entries name writers whose additions to an object are not reported.
var additional = []string{"kubernetes-controllers", "known-controllers", "truce-tools", "deployer-marks", "flux-requests", "argocd-requests",
	"cnpg-restart",                                                                                    // by the prefix of its name a person
	"policy-engines", "gke-autopilot-webhook", "kueue-suspend", "pod-webhooks", "load-balancer-class", // known by the names of their webhooks
}

func TestTheCatalogueTellsOfEveryWriterThatCanBeRecognised(t *testing.T) {
	told := map[string]bool{}
	c := claim.Builtin()
	for id, entries := range writers {
		for e := range strings.FieldsSeq(entries) {
			if _, ok := c.Entry(e); !ok {
				t.Errorf("%s: there is no entry %s", id, e)
			}
			told[e] = true
		}
	}
	if n := len(writers) + len(unrecognisable); n != 76 {
		t.Errorf("%d writers, want 76", n)
	}
	for _, id := range additional {
		told[id] = true
	}
	for _, e := range c.Entries() {
		if !told[e.ID] {
			t.Errorf("%s tells of a writer that the list does not have", e.ID)
		}
	}
}

func TestEveryEntryCanBeReadByAPerson(t *testing.T) {
	for _, e := range claim.Builtin().Entries() {
		if e.Family == "" || len(e.Knowledge) == 0 || !strings.HasSuffix(e.Text, ".") {
			t.Errorf("%s: family %q, knowledge %q, text %q: want all, and a sentence", e.ID, e.Family, e.Knowledge, e.Text)
		}
	}
}

func TestTheKindsOfClaimants(t *testing.T) {
	got := claim.Builtin().Kinds()
	hpa := object.GVK{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	if i := slices.Index(got, hpa); i < 0 || got[i+1].Version != "v1" {
		t.Errorf("want HPA v2 and then v1 in %v", got)
	}
	for _, gvk := range got {
		if gvk.Kind == "VerticalPodAutoscaler" {
			t.Error("a VPA claims nothing, so it need not be watched")
		}
	}
}

const mine = `
claims:
- id: scaler
  who: our scaler
  evidence: [{annotation: example.com/scaler}]
  on: [Deployment.apps]
  paths: [spec.replicas]
  do: cede
  count: {least: 2, most: 9}
  text: It scales.
- id: hpa
  off: true
`

func TestAUsersEntriesAddAndReplace(t *testing.T) {
	c, err := claim.Builtin().With("mine.yaml", []byte(mine))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := c.Entry("scaler"); !ok || e.File != "mine.yaml" {
		t.Errorf("got %+v, %v", e, ok)
	}
	if _, ok := c.Entry("hpa"); ok {
		t.Error("hpa is still there")
	}
	if _, ok := claim.Builtin().Entry("hpa"); !ok {
		t.Error("the built-in catalogue has changed")
	}
	differs := c.Differs(claim.Builtin())
	if !differs(object.ID{Group: "apps", Kind: "Deployment"}) || !differs(object.ID{Group: "example.org", Kind: "Any"}) {
		t.Error("an entry about every kind is out: all may be claimed by others")
	}
	web := given.Object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {example.com/scaler: x}}")
	got := c.On(claim.Subject{Desired: web}, nil)
	if len(got) != 1 || got[0].Name() != "our scaler" || got[0].Min != 2 || got[0].Max != 9 || got[0].Certainty != claim.Annotated {
		t.Errorf("got %+v", got)
	}
	if got := c.Read(given.Object(t, hpaOf("hpa", "web"))); got != nil {
		t.Errorf("an HPA claims %v though the entry is off", got)
	}
}

func TestCataloguesDifferInTheKindsOfTheirEntries(t *testing.T) {
	c, err := claim.Builtin().With("mine.yaml", []byte(strings.Split(mine, "- id: hpa")[0]))
	if err != nil {
		t.Fatal(err)
	}
	deployment, service := object.ID{Group: "apps", Kind: "Deployment"}, object.ID{Kind: "Service"}
	for _, differs := range []func(object.ID) bool{c.Differs(claim.Builtin()), claim.Builtin().Differs(c)} {
		if !differs(deployment) || differs(service) {
			t.Errorf("Deployments %v, Services %v", differs(deployment), differs(service))
		}
	}
	if same := claim.Builtin().Differs(claim.Builtin()); same(deployment) {
		t.Error("two that are the same differ")
	}
}

func TestAWriterIsKnownByItsName(t *testing.T) {
	c := claim.Builtin()
	deployment, hook := object.ID{Group: "apps", Kind: "Deployment"}, object.ID{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
	for _, x := range []struct {
		manager string
		on      object.ID
		want    string
	}{
		{"kubectl-edit", deployment, "kubectl"}, {"manager", deployment, "unnamed-controllers"}, {"helm", deployment, "deployers"},
		{"pilot-discovery", hook, "ca-injected"}, {"kubectl", hook, "kubectl"}, {"rancher", deployment, "rancher-marks"}, {"nobody", deployment, ""},
	} {
		if e, _ := c.Writer(ownership.Entry{Manager: x.manager, Operation: "Update"}, x.on); e.ID != x.want {
			t.Errorf("%s on %s: got %q, want %q", x.manager, x.on.Kind, e.ID, x.want)
		}
	}
}
