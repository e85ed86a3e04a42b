package flux

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/report"
)

// HelmReleases translates HelmRelease. Its zero value is ready.
type HelmReleases struct{}

var _ dialect.Apps = HelmReleases{}

// The names of HelmReleases, and of the labels by which Flux's tools find their objects.
const (
	helmRelease   = "HelmRelease"
	helmAPI       = "helm.toolkit.fluxcd.io/v2"
	helmNameLabel = "helm.toolkit.fluxcd.io/name"
	helmNSLabel   = "helm.toolkit.fluxcd.io/namespace"
)

// The annotations by which Helm finds the release of an object.
const (
	releaseNameKey      = "meta.helm.sh/release-name"
	releaseNamespaceKey = "meta.helm.sh/release-namespace"
)

// AnsweredRequests is nothing, as for a Kustomization.
func (HelmReleases) AnsweredRequests(object.Object, report.Report) []field.Pointer { return nil }

// App reads a HelmRelease.
func (HelmReleases) App(cr object.Object, process policy.Policy) app.App {
	r := &reading{}
	a := r.helmApp(cr, process)
	a.Problems, a.Notes = r.Problems, r.Notes
	return a
}

func (r *reading) helmApp(cr object.Object, process policy.Policy) app.App {
	r.Kind(cr, helmAPI, helmRelease)
	var hr helmv2.HelmRelease
	fields := r.spec(cr, &hr.Spec, unsupportedInHelmRelease)
	hr.Name, hr.Namespace, hr.Generation = cr.Name(), cr.Namespace(), cr.Generation()
	hr.Annotations = helmRequests(cr)
	reader.DecodeStatus(cr, &hr.Status)
	a := app.App{
		Key: app.Key{Kind: helmRelease, Namespace: cr.Namespace(), Name: cr.Name()}, UID: cr.UID(), Generation: cr.Generation(),
		Labels: map[string]string{}, Path: ".", Suspended: hr.Spec.Suspend, Deleting: cr.At("metadata", "deletionTimestamp") != nil,
		Prune: policy.PruneDelete, Health: health.Reconciled, Validation: app.ValidateNone,
		Policy:     r.policy(cr, KustomizationSpec{}, process),
		Account:    r.account(cr, KustomizationSpec{}.with(hr.Spec.ServiceAccountName)),
		Kubeconfig: r.kubeconfig(hr.Spec.KubeConfig),
		Finalizers: []string{finalizer, ownFinalizer}, OwnFinalizer: ownFinalizer, GuardFinalizer: finalizer,
		DefaultNamespace: policy.DefaultNamespace{
			Name: hr.GetReleaseNamespace(), Make: hr.GetInstall().CreateNamespace,
			FirstLabels: map[string]string{"name": hr.GetReleaseNamespace()}, // as Helm labels a namespace that it makes
		},
		Overlay: helmOverlay(hr),
		Wait:    waitMode(!hr.GetInstall().DisableWait && !hr.GetUpgrade().DisableWait),
	}
	if len(cr.Name()) <= 63 && len(cr.Namespace()) <= 63 {
		a.Labels = map[string]string{helmNameLabel: cr.Name(), helmNSLabel: cr.Namespace()}
	}
	a.Ignore, a.OptOuts = r.driftRules(cr, hr.Spec.DriftDetection)
	a.HealthExprs = r.healthExpressions(hr.Spec.HealthCheckExprs)
	a.DependsOn = r.dependencies(cr, hr.Spec.DependsOn)
	a.Request, _ = cr.Annotation(requestedAt)
	a.HandledRequest = hr.Status.GetLastHandledReconcileRequest()
	a.CompletedRevision, a.LastFailure = completedRelease(cr, hr.Status), lastFailure(cr)
	if a.LastFailure != "" {
		a.AttemptedRevision = hr.Status.LastAttemptedRevisionDigest
	}
	a.Release = r.release(hr)
	if object.Object(fields).StringAt("chart", "kind") == ociRepository {
		r.Unsupported("spec.chart.kind", ociTemplate)
	} else {
		r.chartSource(&a, hr)
	}
	r.helmDrift(&a, hr)
	r.helmTimes(&a, hr, fields)
	r.noteHelm(hr)
	a.Approved, _ = cr.Annotation(reader.ApproveKey)
	a.MovedTo, _ = cr.Annotation(identity.MovedToKey)
	a.PruneLimit = r.PruneMost(cr)
	r.annotations(cr)
	r.adoption(cr, &a, ofRelease(cr, a))
	if a.Deleting {
		r.keepBinding() // what was made can be deleted whatever else the spec says now
		if a.Suspended {
			a.Prune = policy.PruneKeep
		}
	}
	return a
}

// helmName is the name of the release. As helm-controller does, it shortens one that is too long for Helm to its beginning and a hash.
func helmName(hr helmv2.HelmRelease) string {
	const most, hashed = 53, 12 // Helm's limit, and the digits of the hash
	name := hr.GetReleaseName()
	if len(name) <= most {
		return name
	}
	return name[:most-hashed-1] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:hashed]
}

// helmRequests are the annotations by which a HelmRelease is asked for something.
func helmRequests(cr object.Object) map[string]string {
	out := map[string]string{}
	for _, key := range []string{requestedAt, helmv2.ResetRequestAnnotation, helmv2.ForceRequestAnnotation} {
		if token, ok := cr.Annotation(key); ok {
			out[key] = token
		}
	}
	return out
}

// with is a spec with a service account.
func (s KustomizationSpec) with(account string) KustomizationSpec {
	s.ServiceAccountName = account
	return s
}

// helmOverlay is what Helm and Flux put on each object: whose it is. Helm writes its marks after Flux has put spec.commonMetadata on the objects, so they win.
func helmOverlay(hr helmv2.HelmRelease) overlay.Overlay {
	meta := overlay.Metadata{Labels: map[string]string{}, Annotations: map[string]string{}}
	if m := hr.Spec.CommonMetadata; m != nil {
		maps.Copy(meta.Labels, m.Labels)
		maps.Copy(meta.Annotations, m.Annotations)
	}
	meta.Labels["app.kubernetes.io/managed-by"] = "Helm"
	meta.Annotations[releaseNameKey], meta.Annotations[releaseNamespaceKey] = helmName(hr), hr.GetReleaseNamespace()
	return overlay.Overlay{Within: "spec", Metadata: meta}
}

// release is the Helm release that a HelmRelease asks for.
func (r *reading) release(hr helmv2.HelmRelease) *release.Spec {
	out := &release.Spec{
		Name: helmName(hr), Namespace: hr.GetReleaseNamespace(), Storage: hr.GetStorageNamespace(), MaxHistory: hr.GetMaxHistory(),
		Rendered: hr.Status.ObservedPostRenderersDigest, Known: map[int]string{},
	}
	r.Namespace("spec.targetNamespace", hr.Spec.TargetNamespace)
	r.Namespace("spec.storageNamespace", hr.Spec.StorageNamespace)
	if hr.Spec.Values != nil && !r.HasProblemWithin("spec.values") {
		out.Inline = string(hr.Spec.Values.Raw)
	}
	r.valuesFrom(out, hr)
	for _, s := range hr.Status.History {
		if s == nil || s.Name != out.Name || s.Namespace != out.Namespace {
			continue
		}
		out.Known[s.Version] = s.Digest
		if out.Newest == nil {
			out.Newest = installedOf(*s, *out)
		}
	}
	out.Former = formerRelease(hr.Status, *out)
	install, upgrade := hr.GetInstall(), hr.GetUpgrade()
	out.Template.Schema = schemaPolicy(install, upgrade)
	if hr.GetUninstall().KeepHistory {
		out.History = record.KeepHistory
	}
	if upgrade.PreserveValues {
		out.Template.Former = release.KeepFormer
	}
	r.actions(out, hr)
	r.definitionsPolicies(out, install, upgrade)
	r.postRenderers(out, hr.Spec.PostRenderers)
	r.postRenderHooks(out, hr)
	return out
}

// installedOf is the release of a snapshot.
func installedOf(s helmv2.Snapshot, spec release.Spec) *release.Installed {
	return &release.Installed{
		Name: s.Name, Namespace: s.Namespace, Storage: spec.Storage, Revision: s.Version, Status: hook.Status(s.Status), Renders: spec.Rendered,
		Content: record.Content{
			Chart: s.ChartName, Version: s.ChartVersion, AppVersion: s.AppVersion, Config: s.ConfigDigest, Digest: s.Digest,
			First: s.FirstDeployed.Time, Last: s.LastDeployed.Time,
		},
	}
}

// formerRelease is the release that a HelmRelease made before its spec.releaseName, spec.targetNamespace or spec.storageNamespace was changed; nil for none.
func formerRelease(s helmv2.HelmReleaseStatus, now release.Spec) *record.Former {
	newest := s.History.Latest()
	if newest == nil || s.StorageNamespace == "" || newest.Name == now.Name && newest.Namespace == now.Namespace && s.StorageNamespace == now.Storage {
		return nil
	}
	out := &record.Former{Name: newest.Name, Namespace: newest.Namespace, Storage: s.StorageNamespace, Known: map[int]string{}}
	for _, old := range s.History {
		if old != nil && old.Name == newest.Name && old.Namespace == newest.Namespace {
			out.Known[old.Version] = old.Digest
		}
	}
	return out
}

// schemaPolicy says in which actions values are not validated against the chart's schema.
func schemaPolicy(install helmv2.Install, upgrade helmv2.Upgrade) release.Schema {
	switch {
	case install.DisableSchemaValidation && upgrade.DisableSchemaValidation:
		return release.SkipValidation
	case install.DisableSchemaValidation:
		return release.ValidateUpgrades
	case upgrade.DisableSchemaValidation:
		return release.ValidateInstalls
	}
	return release.ValidateValues
}

func (r *reading) valuesFrom(out *release.Spec, hr helmv2.HelmRelease) {
	for i, v := range hr.Spec.ValuesFrom {
		at := fmt.Sprintf("spec.valuesFrom[%d]", i)
		if v.Kind != "ConfigMap" && v.Kind != "Secret" {
			r.Problem(at+".kind", "want ConfigMap or Secret, not %q", v.Kind)
		}
		if v.Name == "" {
			r.Problem(at+".name", "required")
		}
		out.From = append(out.From, release.Reference{Kind: v.Kind, Name: v.Name, Key: v.GetValuesKey(), Path: v.TargetPath, Literal: v.Literal, Optional: v.Optional})
	}
}

// definitionsPolicies are how the chart's CustomResourceDefinitions are kept by installs and by upgrades. By default both create those that are missing, but
// where an install leaves them out, an upgrade does so too.
func (r *reading) definitionsPolicies(out *release.Spec, install helmv2.Install, upgrade helmv2.Upgrade) {
	ofInstall := install.CRDs
	if ofInstall == "" && install.SkipCRDs { // deprecated, and still in the API
		ofInstall = helmv2.Skip
	}
	ofUpgrade := upgrade.CRDs
	if ofUpgrade == "" && ofInstall == helmv2.Skip {
		ofUpgrade = helmv2.Skip
	}
	out.Template.CRDs, out.Template.UpgradeCRDs = r.definitionsPolicy("spec.install.crds", ofInstall), r.definitionsPolicy("spec.upgrade.crds", ofUpgrade)
}

func (r *reading) definitionsPolicy(field string, policy helmv2.CRDsPolicy) release.CRDs {
	switch policy {
	case helmv2.Skip:
		return release.SkipCRDs
	case helmv2.CreateReplace:
		return release.ReplaceCRDs
	case helmv2.Create, "":
	default:
		r.Problem(field, "want Skip, Create or CreateReplace, not %q", policy)
	}
	return release.CreateCRDs
}

func (r *reading) postRenderers(out *release.Spec, all []helmv2.PostRenderer) {
	for i, p := range all {
		if p.Kustomize == nil {
			continue
		}
		var one release.PostRenderer
		text, err := json.Marshal(p.Kustomize)
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			r.Problem(fmt.Sprintf("spec.postRenderers[%d]", i), "%s", reader.DecodeErrorText(err))
		}
		out.Template.PostRenderers = append(out.Template.PostRenderers, one)
	}
	if all != nil {
		out.Renders = digestOf(all)
	}
}

// postRenderHooks reads what post-renderers do about hooks, of which spec.commonMetadata is one in Flux.
func (r *reading) postRenderHooks(out *release.Spec, hr helmv2.HelmRelease) {
	switch s := hr.GetPostRenderStrategy(); s {
	case helmv2.PostRenderStrategyCombined, "":
	case helmv2.PostRenderStrategySeparate:
		out.Template.PostRenderHooks = hook.RenderedApart
	case helmv2.PostRenderStrategyNoHooks:
		out.Template.PostRenderHooks = hook.NotPostRendered
		return
	default:
		r.Problem("spec.postRenderStrategy", "want combined, separate or nohooks, not %q", s)
	}
	if m := hr.Spec.CommonMetadata; m != nil {
		out.HookMarks = overlay.Metadata{Labels: m.Labels, Annotations: m.Annotations}
	}
}

// digestOf identifies a part of a spec as helm-controller does in its status.
func digestOf(part any) string {
	digest := sha256.New()
	if err := json.NewEncoder(digest).Encode(part); err != nil {
		return "" // it was JSON before
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
}

// helmTimes reads the times. A failed install or upgrade is tried again after the interval of its strategy.
func (r *reading) helmTimes(a *app.App, hr helmv2.HelmRelease, fields map[string]any) {
	r.required(fields, "interval", "the time between two full checks, such as 10m")
	a.Interval = r.period("spec.interval", hr.Spec.Interval.Duration)
	r.retryInterval(a, hr)
	const leastTimeout = 30 * time.Second
	a.Timeout = max(r.span("spec.timeout", hr.GetTimeout().Duration), leastTimeout)
}

// Unready says why a dependency keeps a HelmRelease from running; empty where it does not. As in Flux, the newest generation of it is Ready, or
// the expression is true.
func (HelmReleases) Unready(on dependency.Dependency, self, dep object.Object, _ string) string {
	name := dependencyName(self, on.On)
	switch {
	case dep == nil:
		return name + " not found"
	case !on.Ready.IsZero():
		return unreadyByExpression(name, on, self, dep)
	case !isReady(dep):
		return name + " is not ready"
	}
	return ""
}

// completedRelease is the revision of the source of the newest release, where it was applied whole under the present spec.
func completedRelease(cr object.Object, s helmv2.HelmReleaseStatus) string {
	if s.ObservedGeneration != cr.Generation() || !isReady(cr) {
		return ""
	}
	return s.LastAttemptedRevisionDigest
}
