// Package permissions answers: which permissions does a controller need, and what for?
//
// In: the kinds that claim fields.
// Out: permissions, by what a controller does with them: its own work, reading, applying.
// Promise: the roles of an installation are generated from these, `truce check` asks the API server for them, and `make test-long` runs the
// stories with no others.
// Not here: asking the API server (view/preflight), writing roles as YAML (deploy/release).
package permissions

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Rule is one permission, as in a rule of a ClusterRole.
type Rule struct {
	Group     string
	Resources []string // with a subresource as in RBAC: kustomizations/status; "*" for all
	Names     []string // of the objects; none for all
	Verbs     []string
	// For says what the controller does with it.
	For string
	// Without says what is missing without it; empty: the controller does not work.
	Without string
	// ClusterOnly is for what lies in no namespace, or is read of all namespaces: a controller of some namespaces works without it.
	ClusterOnly bool
}

// The groups of the custom resources and of Kubernetes' own kinds that a controller uses itself.
const (
	fluxApps    = "kustomize.toolkit.fluxcd.io"
	fluxHelm    = "helm.toolkit.fluxcd.io"
	fluxSources = "source.toolkit.fluxcd.io"
	fluxNotices = "notification.toolkit.fluxcd.io"
	fluxMakers  = "source.extensions.fluxcd.io"
	argo        = "argoproj.io"
	admission   = "admissionregistration.k8s.io"
)

var (
	// follow is for custom resources that are seen by a watch alone.
	follow = []string{"list", "watch"}
	read   = []string{"get", "list", "watch"}
	write  = []string{"create", "patch", "delete"}
)

// ControllerRules returns what a controller that applies needs for its own work, whatever it applies: reading custom resources, its records, its Leases,
// and evidence.
func ControllerRules() []Rule {
	return append(ObserverRules(),
		Rule{Resources: []string{"configmaps"}, Verbs: write, For: "write inventories and how the controller runs"},
		Rule{Group: "coordination.k8s.io", Resources: []string{"leases"}, Verbs: []string{"create", "update"}, For: "leader election"},
	)
}

// ObserverRules returns what a controller with --mode observe needs for its own work outside of its namespace: it has no inventories, and no Lease there.
func ObserverRules() []Rule {
	return []Rule{
		{Group: fluxApps, Resources: []string{"kustomizations"}, Verbs: read, For: "read Kustomizations"},
		{Group: fluxHelm, Resources: []string{"helmreleases"}, Verbs: read, For: "read HelmReleases"},
		{Group: fluxSources, Resources: []string{"gitrepositories", "ocirepositories", "buckets", "helmrepositories", "helmcharts", "externalartifacts"}, Verbs: follow, For: "read GitRepositories, OCIRepositories, Buckets, HelmRepositories, HelmCharts and ExternalArtifacts"},
		{Group: fluxMakers, Resources: []string{"artifactgenerators"}, Verbs: follow, For: "read ArtifactGenerators", Without: "no artifacts of ArtifactGenerators"},
		{Group: fluxNotices, Resources: []string{"providers", "alerts", "receivers"}, Verbs: follow, For: "read Providers, Alerts and Receivers", Without: "no messages to Providers, and no webhooks"},
		{Group: argo, Resources: []string{"applications"}, Verbs: read, For: "read Applications"},
		{Group: argo, Resources: []string{"appprojects"}, Verbs: read, For: "find what AppProjects permit, and their subscriptions to messages", Without: "Applications are refused where AppProjects are served"},
		{Resources: []string{"configmaps"}, Verbs: read, For: "read inventories, and ConfigMaps that apps name"},
		{Resources: []string{"secrets"}, Verbs: read, For: "read credentials of sources, decryption keys and Secrets that apps name, and notice their change", Without: "sources without credentials only"},
		{
			Resources: []string{"serviceaccounts"}, Verbs: []string{"get"}, For: "find the image pull secrets and the identities at clouds of the service accounts that sources name",
			Without: "sources with spec.serviceAccountName fail",
		},
		{Group: "coordination.k8s.io", Resources: []string{"leases"}, Verbs: []string{"get"}, For: "leader election, and to notice other instances"},
		{Group: "events.k8s.io", Resources: []string{"events"}, Verbs: []string{"create"}, For: "report Events", Without: "no Events on custom resources"},
		{Resources: []string{"events"}, Verbs: []string{"list"}, For: "find evidence of who changed an object", Without: "less evidence in `truce why`"},
		{Resources: []string{"pods"}, Verbs: []string{"list"}, For: "find the cause of a Degraded workload", Without: "no causes"},
		{Resources: []string{"namespaces"}, Verbs: read, For: "match namespace selectors of admission", Without: "admission cannot be attributed", ClusterOnly: true},
		{Group: "apiextensions.k8s.io", Resources: []string{"customresourcedefinitions"}, Verbs: read, For: "notice a changed schema", Without: "a changed schema is noticed late", ClusterOnly: true},
		{
			Group: admission, Verbs: read, ClusterOnly: true,
			Resources: []string{"mutatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
			For:       "find which admission changed a field", Without: "a change by admission is held, and not attributed",
		},
		{
			Group: "authentication.k8s.io", Resources: []string{"tokenreviews"}, Verbs: []string{"create"}, ClusterOnly: true,
			For: "authenticate requests to the status page", Without: "the page is for requests from the same machine only",
		},
		{
			Group: "authorization.k8s.io", Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}, ClusterOnly: true,
			For: "authorize requests to the status page", Without: "the page is for requests from the same machine only",
		},
	}
}

// What a controller does with EndpointSlices, and what is missing without.
const (
	pointServices = "point the Services of the status page, the admission witness and webhooks at the leader"
	unpointed     = "no --page-service, no --witness-service and no --webhook-service"
)

// NamespaceRules returns what a controller needs in its own namespace alone.
func NamespaceRules() []Rule {
	return []Rule{
		{Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}, For: "write how the controller runs"},
		{Resources: []string{"configmaps"}, Names: []string{"truce-claims"}, Verbs: read, For: "read what is added to the catalogue of claims"},
		{
			Group: "events.k8s.io", Resources: []string{"events"}, Verbs: []string{"create"},
			For: "report claims that are refused", Without: "no Events on the ConfigMap truce-claims",
		},
		{Group: "coordination.k8s.io", Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}, For: "leader election"},
		{
			Resources: []string{"secrets"}, Verbs: []string{"create"}, For: "keep the token of the status page, and the key that signs inventories",
			Without: "commands cannot read the status page, and nothing is pruned",
		},
		{Resources: []string{"secrets"}, Names: []string{"truce-inventory-key"}, Verbs: []string{"get"}, For: "sign inventories", Without: "nothing is pruned"},
		{Resources: []string{"secrets"}, Names: []string{"truce-page"}, Verbs: []string{"get", "patch"}, For: "keep the token of the status page", Without: "commands cannot read the status page"},
		{Group: "discovery.k8s.io", Resources: []string{"endpointslices"}, Verbs: []string{"create"}, For: pointServices, Without: unpointed},
		{Group: "discovery.k8s.io", Resources: []string{"endpointslices"}, Names: []string{"truce-page", "truce-witness", "truce-webhook"}, Verbs: []string{"patch"}, For: pointServices, Without: unpointed},
	}
}

// WitnessPrefix begins the name of the ValidatingWebhookConfiguration of an admission witness; the namespace of the controller's own state ends it.
const WitnessPrefix = "truce-witness-"

// StatusRules returns what a controller that applies, with its own state in the namespace home, writes to the custom resources, and the admission witness.
func StatusRules(home string) []Rule {
	return []Rule{
		{Group: fluxApps, Resources: []string{"kustomizations", "kustomizations/status"}, Verbs: []string{"patch"}, For: "write status and finalizers"},
		{Group: fluxHelm, Resources: []string{"helmreleases", "helmreleases/status"}, Verbs: []string{"patch"}, For: "write status and finalizers"},
		{Group: fluxSources, Resources: []string{"gitrepositories", "gitrepositories/status", "ocirepositories", "ocirepositories/status", "buckets", "buckets/status", "helmrepositories", "helmrepositories/status", "helmcharts", "helmcharts/status"}, Verbs: []string{"patch"}, For: "write status, and end deletions that a controller of Flux which is gone would hold"},
		{Group: fluxMakers, Resources: []string{"artifactgenerators", "artifactgenerators/status"}, Verbs: []string{"patch"}, For: "write status and finalizers of ArtifactGenerators", Without: "no status of ArtifactGenerators"},
		{Group: fluxSources, Resources: []string{"externalartifacts"}, Verbs: write, For: "write the ExternalArtifacts of ArtifactGenerators", Without: "ArtifactGenerators fail"},
		{Group: fluxSources, Resources: []string{"externalartifacts/status"}, Verbs: []string{"patch"}, For: "write the status of ExternalArtifacts of ArtifactGenerators", Without: "ExternalArtifacts of ArtifactGenerators have no status"},
		{Group: fluxSources, Resources: []string{"helmcharts"}, Verbs: []string{"delete"}, For: "delete the HelmChart that helm-controller made for a HelmRelease, with it", Without: "such HelmCharts stay"},
		{Group: fluxNotices, Resources: []string{"receivers"}, Verbs: []string{"patch"}, For: "end deletions that a controller of Flux which is gone would hold", Without: "such Receivers stay"},
		{Group: fluxNotices, Resources: []string{"providers/status", "alerts/status", "receivers/status"}, Verbs: []string{"patch"}, For: "write status", Without: "no status of Providers, Alerts and Receivers"},
		{Group: argo, Resources: []string{"applications", "applications/status"}, Verbs: []string{"patch"}, For: "write status, and end an operation"},
		{
			Group: admission, Resources: []string{"validatingwebhookconfigurations"}, Verbs: []string{"create"}, ClusterOnly: true,
			For: "configure the admission witness (--witness)", Without: "no --witness",
		},
		{
			Group: admission, Resources: []string{"validatingwebhookconfigurations"}, Names: []string{WitnessPrefix + home}, Verbs: []string{"get", "patch", "delete"}, ClusterOnly: true,
			For: "configure the admission witness (--witness), and remove it", Without: "no --witness",
		},
	}
}

// ApplyRules returns what a controller needs for the objects in Git, of any kind. It can be replaced by the kinds that the repositories have.
func ApplyRules() []Rule {
	return []Rule{{Group: "*", Resources: []string{"*"}, Verbs: slices.Concat(read, write), For: "apply, watch and prune the objects in Git"}}
}

// ClaimantRules returns what a controller needs to know of objects that claim fields: the kinds in its catalogue.
func ClaimantRules(kinds []object.GVK) []Rule {
	var out []Rule
	for _, k := range kinds {
		r := Rule{Group: k.Group, Resources: []string{resourceName(k.Kind)}, Verbs: read, For: "cede fields that they claim", Without: "a field that one could claim is not corrected"}
		if !slices.ContainsFunc(out, func(o Rule) bool { return o.Group == r.Group && slices.Equal(o.Resources, r.Resources) }) {
			out = append(out, r)
		}
	}
	return out
}

// resourceName is the name of a kind's resource, as English has it and CustomResourceDefinitions mostly do.
func resourceName(kind string) string {
	name := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	return name + "s"
}

// Impersonate returns what a controller needs for apps that name a service account or a ConfigMap in spec.kubeConfig, and for --default-service-account
// and --multi-tenant. It acts as
// accounts of an app's own namespace alone, which RBAC cannot say.
func Impersonate() []Rule {
	return []Rule{{
		Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"},
		For: "act as the service accounts of apps", Without: "apps with a service account fail",
	}, {
		Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"},
		For:     "connect to other clusters, and ask clouds for credentials, with tokens of service accounts",
		Without: "apps with spec.kubeConfig.configMapRef fail, and sources with a cloud's spec.provider and spec.serviceAccountName",
	}}
}

// Observe returns what a controller with --mode observe needs besides ObserverRules. It compares without a dry run: that is a patch.
func Observe() []Rule {
	return []Rule{{Group: "*", Resources: []string{"*"}, Verbs: read, For: "compare the objects in Git"}}
}
