package flux

import (
	"cmp"
	"github.com/truce-gitops/truce/internal/model/health"
	"path"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/util/validation"
)

// App reads a Kustomization.
func (Kustomizations) App(cr object.Object, process policy.Policy) app.App {
	r := &reading{}
	a := r.app(cr, process)
	a.Problems, a.Notes = r.Problems, r.Notes
	return a
}

func (r *reading) app(cr object.Object, process policy.Policy) app.App {
	r.Kind(cr, kustomizeAPI, kustomization)
	var spec KustomizationSpec
	fields := r.spec(cr, &spec, unsupportedInKustomization)
	a := app.App{
		Key:        app.Key{Kind: kustomization, Namespace: cr.Namespace(), Name: cr.Name()},
		UID:        cr.UID(),
		Generation: cr.Generation(),
		Labels:     r.labels(cr),
		Source:     r.sourceRef(cr, spec, fields),
		Path:       r.path(spec.Path),
		Namespace:  r.Namespace("spec.targetNamespace", spec.TargetNamespace),
		Overlay:    r.overlay(spec),
		PostBuild:  r.postBuild(spec),
		Decryption: r.decryption(spec),
		Suspended:  spec.Suspend,
		Deleting:   cr.At("metadata", "deletionTimestamp") != nil,
		Prune:      pruneMode(spec.Prune),
		Health:     health.Reconciled,
		Validation: r.validation(spec.Validation),
		Policy:     r.policy(cr, spec, process),
		Ignore:     r.rules(cr, spec),
		OptOuts:    optOuts,
		Account:    r.account(cr, spec),
		Kubeconfig: r.kubeconfig(spec.KubeConfig),
		DependsOn:  r.dependencies(cr, spec.DependsOn),
		Recreate:   spec.Force,
	}
	a.CompletedRevision, a.LastFailure, a.AttemptedRevision = completedRevision(cr), lastFailure(cr), attemptedRevision(cr)
	a.HealthExprs = r.healthExpressions(spec.HealthCheckExprs)
	a.HealthChecks = r.healthChecks(cr, spec)
	a.Wait, a.FailedSince = waitMode(spec.Wait || len(a.HealthChecks) > 0), failedSince(cr)
	a.Request, _ = cr.Annotation(requestedAt)
	a.HandledRequest, _ = cr.At("status", "lastHandledReconcileAt").(string)
	a.Source.Revision = r.pin(cr)
	a.Finalizers, a.OwnFinalizer = []string{finalizer, ownFinalizer}, ownFinalizer
	r.deletion(&a, spec.DeletionPolicy)
	a.Approved, _ = cr.Annotation(reader.ApproveKey)
	a.MovedTo, _ = cr.Annotation(identity.MovedToKey)
	a.PruneLimit = r.PruneMost(cr)
	r.required(fields, "prune", "true deletes objects that leave Git, false keeps them")
	r.periods(&a, spec, fields)
	r.annotations(cr)
	r.adoption(cr, &a, ofKustomization(cr))
	if a.Deleting {
		r.leave(&a, spec)
	}
	return a
}

// account is the service account that spec.serviceAccountName names; as in Flux, it is in the Kustomization's own namespace.
func (r *reading) account(cr object.Object, spec KustomizationSpec) identity.Account {
	name := spec.ServiceAccountName
	if name == "" {
		return identity.Account{}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		r.Problem("spec.serviceAccountName", "%q is no name of a service account: %s", name, problems[0])
	}
	return identity.Account{Namespace: cr.Namespace(), Name: name}
}

// kubeconfig reads which Secret or ConfigMap, of the Kustomization's own namespace, says in which cluster the objects are.
func (r *reading) kubeconfig(ref *meta.KubeConfigReference) identity.Kubeconfig {
	switch {
	case ref == nil:
		return identity.Kubeconfig{}
	case ref.ConfigMapRef != nil && ref.SecretRef != nil, ref.ConfigMapRef == nil && ref.SecretRef == nil:
		r.Problem("spec.kubeConfig", "want exactly one of secretRef and configMapRef")
		return identity.Kubeconfig{Secret: "?"}
	case ref.ConfigMapRef != nil:
		return identity.Kubeconfig{ConfigMap: r.kubeconfigObject("configMapRef", "ConfigMap", ref.ConfigMapRef.Name)}
	}
	return identity.Kubeconfig{Secret: r.kubeconfigObject("secretRef", "Secret", ref.SecretRef.Name), Key: ref.SecretRef.Key}
}

// kubeconfigObject returns the name of an object that spec.kubeConfig refers to, or one that no object has.
func (r *reading) kubeconfigObject(field, kind, name string) string {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		r.Problem("spec.kubeConfig."+field+".name", "%q is no name of a %s: %s", name, kind, problems[0])
		return "?"
	}
	return name
}

func (r *reading) required(fields map[string]any, key, what string) {
	if fields != nil && fields[key] == nil {
		r.Problem("spec."+key, "required: %s", what)
	}
}

// labels are those by which Flux's tools find an object's Kustomization.
func (r *reading) labels(cr object.Object) map[string]string {
	const longestLabel = 63 // the API server refuses longer values
	if len(cr.Name()) > longestLabel || len(cr.Namespace()) > longestLabel {
		r.Note("the name is longer than a label may be, so that objects do not bear %s", nameLabel)
		return nil
	}
	return map[string]string{nameLabel: cr.Name(), nsLabel: cr.Namespace()}
}

func (r *reading) sourceRef(cr object.Object, spec KustomizationSpec, fields map[string]any) app.SourceKey {
	ref := spec.SourceRef
	r.required(fields, "sourceRef", "kind and name of the source")
	r.reference(ref)
	return app.SourceKey{Kind: ref.Kind, Namespace: cmp.Or(ref.Namespace, cr.Namespace()), Name: ref.Name}
}

func (r *reading) reference(ref kustomizev1.CrossNamespaceSourceReference) {
	switch ref.Kind {
	case gitRepository, ociRepository, bucket, externalArtifact:
	case "":
		r.Problem("spec.sourceRef.kind", "required")
	default:
		r.Problem("spec.sourceRef.kind", "%q is no source", ref.Kind)
	}
	if ref.Name == "" {
		r.Problem("spec.sourceRef.name", "required")
	}
	if ref.APIVersion != "" && !strings.HasPrefix(ref.APIVersion, sourceGroup) {
		r.Problem("spec.sourceRef.apiVersion", "want %s or nothing, not %q", sourceAPI, ref.APIVersion)
	}
}

// pin is the commit that a rollback holds the app at.
func (r *reading) pin(cr object.Object) string {
	text, _ := cr.Annotation(revisionKey)
	if text != "" && !commitForm.MatchString(text) {
		r.Problem("annotation "+revisionKey, "want the full hash of a commit, not %q", text)
		return ""
	}
	return text
}

// path cleans a directory of the source. As in Flux a leading slash is the source's root, and nothing is above that.
func (r *reading) path(text string) string {
	if strings.ContainsRune(text, 0) {
		r.Problem("spec.path", "holds a zero byte")
		return "."
	}
	return cmp.Or(strings.TrimLeft(path.Clean("/"+text), "/"), ".")
}

func pruneMode(yes bool) policy.Prune {
	if yes {
		return policy.PruneDelete
	}
	return policy.PruneKeep
}

func waitMode(yes bool) app.Wait {
	if yes {
		return app.WaitHealthy
	}
	return app.WaitApplied
}

// validation defaults to none: Flux sends every object as a dry run first and stops at the first that is refused; truce lets the server
// check each as it is applied, so that one that is refused does not hold up the others, at half the requests.
func (r *reading) validation(text string) app.Validation {
	v := app.Validation(cmp.Or(text, string(app.ValidateNone)))
	if !slices.Contains([]app.Validation{app.ValidateNone, app.ValidateClient, app.ValidateServer}, v) {
		r.Problem("spec.validation", "want none, client or server, not %q", text)
	}
	return v
}

// periods reads the times. Defaults are Flux's (GetTimeout, GetRetryInterval of kustomize-controller's API), from the interval that holds.
func (r *reading) periods(a *app.App, spec KustomizationSpec, fields map[string]any) {
	r.required(fields, "interval", "the time between two full checks, such as 10m")
	a.Interval = r.period("spec.interval", spec.Interval.Duration)
	if spec.SyncInterval != nil {
		a.Interval = r.period("spec.syncInterval", spec.SyncInterval.Duration)
		a.SourceInterval = a.Interval
	}
	a.Retry = a.Interval
	if spec.RetryInterval != nil {
		a.Retry = r.period("spec.retryInterval", spec.RetryInterval.Duration)
	}
	const leastTimeout = 30 * time.Second
	a.Timeout = a.Interval - leastTimeout
	if spec.Timeout != nil {
		a.Timeout = r.span("spec.timeout", spec.Timeout.Duration)
	}
	a.Timeout = max(a.Timeout, leastTimeout)
}

// deletion reads what becomes of the objects when the Kustomization is deleted. The finalizer keeps it until then where they go.
func (r *reading) deletion(a *app.App, word string) {
	a.PruneOnDelete = a.Prune
	switch word {
	case "", kustomizev1.DeletionPolicyMirrorPrune:
	case kustomizev1.DeletionPolicyDelete:
		a.PruneOnDelete = policy.PruneDelete
	case kustomizev1.DeletionPolicyWaitForTermination:
		a.PruneOnDelete, a.AwaitTermination = policy.PruneDelete, true
	case kustomizev1.DeletionPolicyOrphan:
		a.PruneOnDelete = policy.PruneKeep
	default:
		r.Problem("spec.deletionPolicy", "want MirrorPrune, Delete, WaitForTermination or Orphan, not %q", word)
	}
	if a.PruneOnDelete == policy.PruneDelete {
		a.GuardFinalizer = finalizer
	}
}

// binding are the fields without which nothing can be deleted rightly: what goes, in which cluster, in whose name.
var binding = []string{"spec", "spec.prune", "spec.deletionPolicy", "spec.kubeConfig", "spec.kubeConfig.configMapRef.name", "spec.kubeConfig.secretRef.name", "spec.serviceAccountName"}

// leave reads what the end of an app needs, and no more: a Kustomization that cannot be applied can still be deleted. Git names
// nothing of an app that goes, so Prune says what becomes of its objects; as in Flux, a suspended one leaves them.
func (r *reading) leave(a *app.App, spec KustomizationSpec) {
	r.keepBinding()
	if spec.Suspend && a.Adoption.Mode != policy.TakeBeside { // there the switch is Flux's
		a.PruneOnDelete = policy.PruneKeep
	}
	a.Prune = a.PruneOnDelete
}

// keepBinding drops the problems of fields that are not binding.
func (r *reading) keepBinding() {
	r.Problems = slices.DeleteFunc(r.Problems, func(p app.Problem) bool { return !slices.Contains(binding, p.Field) })
}
