package flux

import (
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// Summarize reads a Kustomization's status back.
func (Commands) Summarize(cr object.Object) dialect.Summary {
	var s kustomizev1.KustomizationStatus
	reader.DecodeStatus(cr, &s)
	t := summarize(cr, Kustomizations{}.App(cr, policy.Policy{}), s.Conditions, s.ObservedGeneration)
	t.Revision, t.History = s.LastAppliedRevision, historyEntries(s.History)
	if s.Inventory != nil {
		t.Objects = entries(s.Inventory.Entries)
	}
	if _, text, found := strings.Cut(t.Message, " ceded: "); found && decide.HasNotApplied(text) {
		t.Ceded, _, _ = strings.Cut(text, "; ")
	}
	return t
}

// summarize reads what the statuses of both kinds of apps have.
func summarize(cr object.Object, a app.App, conditions []metav1.Condition, observed int64) dialect.Summary {
	ready, reconciling := conditionOf(conditions, meta.ReadyCondition), conditionOf(conditions, meta.ReconcilingCondition)
	stale := observed != cr.Generation()
	running := reconciling.Status == metav1.ConditionTrue && reconciling.Reason != meta.ProgressingWithRetryReason
	end := lastRunEnd(conditions, stale)
	t := dialect.Summary{
		StatusWriter: reader.StatusWriter(cr, ""), State: stateOf(conditions, end), End: end, Recorded: recorded(conditions), Message: ready.Message,
		HandledRequest: cr.StringAt("status", "lastHandledReconcileAt"),
	}
	if a.Suspended {
		t.State = t.State.Suspend()
	}
	if t.Lost = a.Adoption.Lost; t.Lost != "" {
		t.StatusWriter = reader.ControllerOf(a.Adoption.Manager)
	}
	t.Finished = !stale && (a.Suspended || !running && ready.Status != "" && ready.Status != metav1.ConditionUnknown && t.HandledRequest == a.Request)
	for _, c := range conditions {
		if c.Type == contested && c.Status == metav1.ConditionTrue {
			t.Contested = c.Message
		}
		t.Conditions = append(t.Conditions, dialect.Condition{Type: c.Type, Message: c.Message, Since: c.LastTransitionTime.Time})
	}
	return t
}

func conditionOf(list []metav1.Condition, kind string) metav1.Condition {
	if c := findCondition(list, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// lastRunEnd reads how the newest run ended. A stale status is about another form of the Kustomization.
func lastRunEnd(list []metav1.Condition, stale bool) report.End {
	end := report.End{Reason: reasonOf(list), Message: conditionOf(list, meta.ReadyCondition).Message}
	if stale && end.Reason != "" {
		end.Reason = report.InProgress
	}
	return end
}

// stateOf reads the state back from the conditions.
func stateOf(list []metav1.Condition, end report.End) report.State {
	drift, objects := conditionOf(list, drifted), report.Synced
	if drift.Status == metav1.ConditionTrue {
		objects = report.OutOfSync
	}
	s := end.State(objects, healthOf(list))
	if s.Message == "" && s.Sync == report.OutOfSync {
		s.Message = drift.Message
	}
	return s
}

// healthOf translates the condition Healthy, which Flux sets where a Kustomization has health checks, and truce where an object is not
// well.
func healthOf(list []metav1.Condition) health.Status {
	c := conditionOf(list, meta.HealthyCondition)
	if c.Status == "" {
		return health.Status{Code: health.Unknown, Message: "the status does not say"}
	}
	if s := recorded(list); s.Code != "" {
		return s
	}
	code := map[metav1.ConditionStatus]health.Code{
		metav1.ConditionTrue: health.Healthy, metav1.ConditionFalse: health.Degraded, metav1.ConditionUnknown: health.Progressing,
	}[c.Status]
	return health.Status{Code: code, Message: c.Message}
}

// recorded is the health that the condition Healthy holds in truce's words.
func recorded(list []metav1.Condition) health.Status {
	c := conditionOf(list, meta.HealthyCondition)
	if s := (health.Status{Code: health.Code(c.Reason), Message: c.Message}); isUnhealthy(s) {
		return s
	}
	return health.Status{}
}

// reasonOf translates Flux's reasons of the condition Ready as far as commands distinguish them.
func reasonOf(list []metav1.Condition) report.Reason {
	ready := conditionOf(list, meta.ReadyCondition)
	switch ready.Status {
	case "":
		return ""
	case metav1.ConditionTrue:
		return report.Succeeded
	case metav1.ConditionFalse:
		return failureOf(ready.Reason, conditionOf(list, drifted))
	case metav1.ConditionUnknown:
	}
	c := conditionOf(list, meta.HealthyCondition)
	if c.Status == metav1.ConditionUnknown && c.Reason == meta.ProgressingReason && ready.Message != inProgress {
		return report.AwaitingHealth
	}
	return report.InProgress
}

func failureOf(reason string, drift metav1.Condition) report.Reason {
	switch reason {
	case unsupportedField, invalidSpec, meta.InvalidCELExpressionReason:
		return report.SpecRefused
	case accessDenied:
		return report.AccessDenied
	case meta.ArtifactFailedReason, sourceNotReady:
		return report.SourceNotReady
	case meta.DependencyNotReadyReason:
		return report.DependencyNotReady
	case meta.BuildFailedReason:
		return report.RenderFailed
	case valuesError:
		return report.ValuesFailed
	case meta.HealthCheckFailedReason:
		return report.HealthFailed
	case meta.PruneFailedReason:
		return report.PruneFailed
	case pruneHeld:
		return report.PruneHeld
	}
	if drift.Status == metav1.ConditionUnknown {
		return report.ClusterFailed
	}
	return report.ApplyFailed
}

// entries reads status.inventory. What is no entry is left out: another client has written it.
func entries[E ~struct {
	ID      string `json:"id"`
	Version string `json:"v"`
}](had []E) []dialect.ListedObject {
	out := make([]dialect.ListedObject, 0, len(had))
	for _, e := range had {
		entry := kustomizev1.ResourceRef(e)
		if id, ok := parseEntry(entry.ID); ok {
			out = append(out, dialect.ListedObject{ID: id, Version: entry.Version})
		}
	}
	return out
}

// parseEntry reads <namespace>_<name>_<group>_<kind> (fluxcd/cli-utils ObjMetadata). Only names hold underscores: two for each
// colon of RBAC's.
func parseEntry(text string) (object.ID, bool) {
	namespace, rest, ok := strings.Cut(text, "_")
	rest, kind, okKind := cutLast(rest, "_")
	name, group, okGroup := cutLast(rest, "_")
	id := object.ID{Namespace: namespace, Name: strings.ReplaceAll(name, "__", ":"), Group: group, Kind: kind}
	return id, ok && okKind && okGroup && name != "" && kind != ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}
