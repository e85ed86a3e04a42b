// Package resource answers: what does a custom resource of Flux or Argo CD say of itself?
//
// In: a custom resource as the API server holds it, of any controller; an Event.
// Out: a Resource: revision, readiness and message, whether it is suspended, by whom and since when; the words that name its kind.
// Promise: no I/O; what a status does not say is empty; no credential of an address is in a Resource.
// Not here: reading custom resources (view), printing them (cli), what truce thinks of an app (dialect, report).
package resource

import (
	"cmp"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// Resource is one custom resource, as it says itself.
type Resource struct {
	Kind    Kind
	Key     app.Key
	Labels  map[string]string
	Created time.Time

	Revision string // that was applied, or fetched
	Source   app.Key
	Path     string
	URL      string // of a source, without credentials
	Follows  string // what a source follows there: "branch main"

	// Ready is the status of the condition Ready: True, False or Unknown; empty for none. An Application has it of its sync and health.
	Ready, Reason, Message string
	ReadySince             time.Time
	Reconciled             time.Time         // when a run ended that came to apply something, by status.history; zero where that has no such times
	Conditions             map[string]string // the status of each

	Suspended bool
	// SuspendedBy is the field manager that set the field which suspends it, and SuspendedSince its last write; empty where that is not recorded.
	SuspendedBy    string
	SuspendedSince time.Time

	Handled string // the newest request that was acted on
	// Settled says that this is about the newest form of the custom resource and its newest request, and that no run goes on.
	Settled bool

	Object object.Object
}

// Query says which custom resources are meant.
type Query struct {
	Kinds     []Kind
	Namespace string // empty for all
	Name      string // empty for all
}

// List is what there is of a Query.
type List struct {
	Items []Resource
	// Refused says which kinds may not be listed, and why.
	Refused []error
}

// ReadResource reads a custom resource of a kind.
func ReadResource(k Kind, cr object.Object) Resource {
	r := Resource{
		Kind: k, Key: app.Key{Kind: k.Kind, Namespace: cr.Namespace(), Name: cr.Name()}, Labels: cr.Labels(), Created: instant(cr.StringAt("metadata", "creationTimestamp")),
		Path: cr.StringAt("spec", "path"), Conditions: map[string]string{}, Handled: cr.StringAt("status", "lastHandledReconcileAt"), Object: cr,
		URL: redact.MaskText(cmp.Or(cr.StringAt("spec", "url"), cr.StringAt("spec", "endpoint"))), Follows: followed(cr),
	}
	r.Suspended = cr.At("spec", "suspend") == true || k.Annotated && registry.Sources()[k.GVK].Source(cr).Suspended
	r.readConditions(cr)
	r.Revision, r.Reconciled = revisionOf(k, cr), lastReconciled(cr)
	r.Source = sourceOf(cr)
	if k.Kind == registry.Applications.Kind {
		r.readApplication(cr)
	}
	r.Message = redact.MaskText(r.Message)
	if r.Suspended {
		r.SuspendedBy, r.SuspendedSince = suspender(cr, suspending(k))
	}
	return r
}

// RequestedAt is the annotation by which Flux's tools ask for a run (fluxcd/pkg/apis/meta ReconcileRequestAnnotation).
const RequestedAt = "reconcile.fluxcd.io/requestedAt"

// IsAnswered reports whether the request with a token has been acted on, by the newest one that was, and by that one before it was made. One that
// has taken its place answers it, too: of several requests a custom resource holds the newest alone. It is to be asked of a settled state, which is
// not about a request from before.
func IsAnswered(token, handled, before string) bool {
	return handled == token || handled != "" && handled != before
}

// lastReconciled is the newest time in status.history at which a Kustomization was reconciled. The condition Ready has the time since which it is ready.
func lastReconciled(cr object.Object) time.Time {
	var newest time.Time
	list, _ := cr.At("status", "history").([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if t := instant(object.Object(m).StringAt("lastReconciled")); t.After(newest) {
			newest = t
		}
	}
	return newest
}

func (r *Resource) readConditions(cr object.Object) {
	list, _ := cr.At("status", "conditions").([]any)
	running, seen := false, cr.At("status", "observedGeneration")
	for _, e := range list {
		m, _ := e.(map[string]any)
		c := object.Object(m)
		kind, status := c.StringAt("type"), c.StringAt("status")
		if kind == "" || status == "" { // those of an Application have no status
			continue
		}
		r.Conditions[kind] = status
		switch {
		case kind == "Ready":
			r.Ready, r.Reason, r.Message = status, c.StringAt("reason"), c.StringAt("message")
			r.ReadySince = instant(c.StringAt("lastTransitionTime"))
			if seen == nil { // the status of an ArtifactGenerator has none
				seen = m["observedGeneration"]
			}
		case kind == "Reconciling" && status == "True":
			running = c.StringAt("reason") != "ProgressingWithRetry"
		}
	}
	if r.Ready == "" && isOfRegistry(cr) { // nothing is fetched of it, so that it has no conditions, as in Flux
		r.Ready, r.Message, r.Settled = "True", "Helm repository is Ready", true
		return
	}
	requested, _ := cr.Annotation(RequestedAt)
	r.Settled = seen == cr.Generation() && !running && r.isJudged() && (r.Suspended || requested == r.Handled)
}

func (r *Resource) isJudged() bool { return r.Ready == "True" || r.Ready == "False" }

func isOfRegistry(cr object.Object) bool {
	return cr.GVK().Kind == "HelmRepository" && cr.At("spec", "type") == "oci"
}

// readApplication translates an Application's sync and health into the words of a condition Ready.
func (r *Resource) readApplication(cr object.Object) {
	s := registry.Commands()[cr.GVK()].Summarize(cr)
	a := registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{})
	r.Suspended, r.Handled, r.Settled, r.Revision = s.State.Suspended, s.HandledRequest, s.Finished, s.Revision
	r.Path = a.Path // its source is an address, and no custom resource
	r.URL = redact.MaskText(cr.StringAt("spec", "source", "repoURL"))
	r.Reason, r.Message = string(s.State.Reason), cmp.Or(s.State.Why(), s.Message, s.State.SyncText()+", "+string(s.State.Health.Code))
	switch {
	case s.State.Sync == report.Synced && s.State.Health.Code == health.Healthy:
		r.Ready = "True"
	case s.State.Sync == report.Unknown || s.State.Health.Code == health.Progressing || s.State.Health.Code == health.Unknown:
		r.Ready = "Unknown"
	default:
		r.Ready = "False"
	}
	r.Conditions["Ready"] = r.Ready
}

func revisionOf(k Kind, cr object.Object) string {
	switch {
	case k.Source != "":
		return cr.StringAt("status", "artifact", "revision")
	case k.Kind == "HelmRelease":
		list, _ := cr.At("status", "history").([]any)
		if len(list) > 0 {
			newest, _ := list[0].(map[string]any)
			return object.Object(newest).StringAt("chartVersion")
		}
	}
	return cr.StringAt("status", "lastAppliedRevision")
}

// sourceOf is the custom resource that files or a chart come from.
func sourceOf(cr object.Object) app.Key {
	for _, at := range [][]string{{"spec", "sourceRef"}, {"spec", "chartRef"}, {"spec", "chart", "spec", "sourceRef"}} {
		m, _ := cr.At(at...).(map[string]any)
		if ref := object.Object(m); ref.StringAt("name") != "" {
			return app.Key{Kind: ref.StringAt("kind"), Namespace: cmp.Or(ref.StringAt("namespace"), cr.Namespace()), Name: ref.StringAt("name")}
		}
	}
	return app.Key{}
}

// followed says which branch, tag or commit a source follows, in the order in which they decide.
func followed(cr object.Object) string {
	for _, key := range []string{"digest", "commit", "name", "semver", "tag", "branch"} {
		if value := cr.StringAt("spec", "ref", key); value != "" {
			return key + " " + value
		}
	}
	return ""
}

// suspending is the field that suspends a custom resource.
func suspending(k Kind) field.Path {
	switch {
	case k.Kind == registry.Applications.Kind:
		return field.NewPath("metadata", "annotations", "argocd.argoproj.io/skip-reconcile")
	case k.Annotated:
		return field.NewPath("metadata", "annotations", "source.extensions.fluxcd.io/reconcile")
	}
	return field.NewPath("spec", "suspend")
}

// suspender is who wrote the field that suspends a custom resource, and when at the latest.
func suspender(cr object.Object, path field.Path) (string, time.Time) {
	owners, err := ownership.Entries(cr)
	if err != nil {
		return "", time.Time{}
	}
	var newest ownership.Entry
	for _, e := range owners {
		if e.Owns(path, owners) && (newest.Manager == "" || e.Time.After(newest.Time)) {
			newest = e
		}
	}
	return newest.Manager, newest.Time
}

// instant is the zero time for what is none.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Matches reports whether a condition is as a selector of flux wants it: ready=false, ready!=true.
func (r Resource) Matches(selector string) bool {
	kind, want, not := strings.Cut(selector, "!=")
	if !not {
		kind, want, _ = strings.Cut(selector, "=")
	}
	is := false
	for name, status := range r.Conditions {
		is = is || strings.EqualFold(name, kind) && strings.EqualFold(status, want)
	}
	return is != not
}
