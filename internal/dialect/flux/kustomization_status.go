package flux

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// reasons are Flux's words for why a run ended as it did (fluxcd/pkg/apis/meta/conditions.go), where they do not depend on more.
var reasons = map[report.Reason]string{
	report.Succeeded:          meta.ReconciliationSucceededReason,
	report.SourceNotReady:     meta.ArtifactFailedReason,
	report.DependencyNotReady: meta.DependencyNotReadyReason,
	report.RenderFailed:       meta.BuildFailedReason,
	report.ValuesFailed:       valuesError,
	report.ValidationFailed:   meta.ReconciliationFailedReason,
	report.ApplyFailed:        meta.ReconciliationFailedReason,
	report.PruneFailed:        meta.PruneFailedReason,
	report.PruneHeld:          pruneHeld,
	report.HealthFailed:       meta.HealthCheckFailedReason,
	report.RecordFailed:       meta.ReconciliationFailedReason,
	report.ClusterFailed:      meta.ReconciliationFailedReason,
	report.OwnedByOther:       meta.ReconciliationFailedReason,
}

// inProgress is the message of a run that has not ended.
const inProgress = "Reconciliation in progress"

// Status returns the status of a Kustomization after a run, or during one.
func (Kustomizations) Status(cr object.Object, r report.Report) map[string]any {
	var s kustomizev1.KustomizationStatus
	reader.DecodeStatus(cr, &s)
	if r.Request != "" {
		s.LastHandledReconcileAt = r.Request
	}
	if r.Reason == report.Suspended {
		s.Conditions = suspendedConditions(r, s.Conditions)
		s.ObservedGeneration = max(s.ObservedGeneration, r.Generation)
		return statusMap(&s)
	}
	r = healthCheckProgress(cr, r, s)
	fresh := r.Generation != s.ObservedGeneration || r.Revision != "" && r.Revision != s.LastAttemptedRevision
	s.Conditions = kustomizationConditions(cr, r, s.Conditions, fresh)
	if began := !r.Running && r.Reason != report.DependencyNotReady; began { // as in Flux, what waits for a dependency is no attempt
		s.ObservedGeneration = cmp.Or(r.Generation, s.ObservedGeneration)
		s.LastAttemptedRevision = cmp.Or(r.Revision, s.LastAttemptedRevision)
	}
	if r.Applied != "" && r.Reason != report.InProgress && r.Reason != report.AwaitingHealth && r.Reason != report.HealthFailed {
		s.LastAppliedRevision = r.Applied
		if r.Applied == r.Revision {
			s.LastAppliedOriginRevision = r.Origin
		}
	}
	if how, _ := cr.Annotation(reader.AdoptedKey); how == "" || r.Recorded { // until then Flux's own list alone says what there may be to prune
		s.Inventory = inventory(s.Inventory, r)
	}
	return withHistory(cr, &s, r)
}

// kustomizationConditions says how it stands. Fresh is a run about something that no finished run was about: until it ends, no one
// knows whether the app is ready. A repeated check does not make a ready app unready.
func kustomizationConditions(cr object.Object, r report.Report, had []metav1.Condition, fresh bool) []metav1.Condition {
	c := conditionsFor(r, had)
	reason, known := reasons[r.Reason]
	switch {
	case r.Running && !fresh && r.Reason != report.InProgress && r.Reason != report.AwaitingHealth:
		c.keep(meta.ReadyCondition)
		c.keep(meta.HealthyCondition)
		c.keep(drifted)
		c.keep(contested)
		c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, inProgress)
		return c.sorted()
	case r.Running || r.Reason == report.InProgress || r.Reason == report.AwaitingHealth || r.Reason == "":
		c.unfinished(r)
	case r.Reason == report.Succeeded:
		c.set(meta.ReadyCondition, metav1.ConditionTrue, reason, summary(r))
	case r.Reason == report.SpecRefused || r.Reason == report.AccessDenied || !known:
		c.stalled(cr, r)
	default:
		c.failed(r, reason)
	}
	c.healthy(cr, r)
	c.drifted(r)
	return c.sorted()
}

// suspendedConditions leaves Ready as it was, as Flux does. Nothing reconciles the app, so Reconciling is removed; drift is still reported,
// as it was last known where this process has not compared the objects.
func suspendedConditions(r report.Report, had []metav1.Condition) []metav1.Condition {
	c := conditionsFor(r, had)
	compared := len(r.Objects) > 0
	for _, old := range had {
		ours := old.Type == drifted || old.Type == contested || old.Type == meta.HealthyCondition && recorded(had).Code != ""
		if old.Type != meta.ReconcilingCondition && (!compared || !ours) {
			c.now = append(c.now, old)
		}
	}
	if !compared {
		return c.sorted()
	}
	c.drifted(r)
	if findCondition(c.now, meta.HealthyCondition) == nil {
		c.unwell(r.State().Health)
	}
	return c.sorted()
}

func conditionsFor(r report.Report, had []metav1.Condition) *conditions {
	seen := r.Seen
	if seen.IsZero() {
		seen = r.At
	}
	return &conditions{had: had, at: metav1.NewTime(seen.UTC()), generation: r.Generation}
}

// drifted sets truce's own conditions: Drifted for fields that differ from Git, Contested for those that go back and forth. Drifted is
// Unknown where the API server did not answer, which Flux's reasons do not distinguish from an apply that it refused.
func (c *conditions) drifted(r report.Report) {
	if text := r.Drift(); text != "" {
		c.set(drifted, metav1.ConditionTrue, driftDetected, text)
	} else if r.Reason == report.ClusterFailed {
		c.set(drifted, metav1.ConditionUnknown, notCompared, "not compared: "+r.Message)
	}
	if e := r.Contested(maxFieldNames); e.Text != "" {
		before := ""
		if old := findCondition(c.had, contested); old != nil {
			before = old.Message
		}
		c.set(contested, metav1.ConditionTrue, fieldContested, e.TextUnlessSame(before))
	}
}

// unfinished is a run that goes on, or that waits for objects to become healthy.
func (c *conditions) unfinished(r report.Report) {
	message := inProgress
	if (r.Reason == report.InProgress || r.Reason == report.AwaitingHealth) && r.Message != "" {
		message = r.Message
	}
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	c.set(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
}

// failed is tried again.
func (c *conditions) failed(r report.Report, reason string) {
	message := r.Message
	if message == "" {
		message = problemsOf(r)
	}
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// stalled is not retried before the Kustomization changes.
func (c *conditions) stalled(cr object.Object, r report.Report) {
	read := &reading{}
	read.app(cr, policy.Policy{})
	reason, message := read.refusal(r.Message)
	if r.Reason == report.AccessDenied {
		reason, message = accessDenied, r.Message
	}
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
}

// healthy sets Flux's condition Healthy. With spec.wait or spec.healthChecks it says how the health check ended. Without, the condition is there only
// while an object is not well, with truce's word as its reason: an app that is Ready without a health check does not look healthy then.
func (c *conditions) healthy(cr object.Object, r report.Report) {
	h := r.State().Health
	switch {
	case !awaitsHealth(cr) && len(r.Objects) > 0 && r.Reason != report.SpecRefused && r.Reason != report.AccessDenied:
		c.unwell(h)
	case r.Reason == report.Succeeded && !r.Running:
		c.set(meta.HealthyCondition, metav1.ConditionTrue, meta.SucceededReason, "Health check passed")
	case r.Reason == report.HealthFailed:
		c.set(meta.HealthyCondition, metav1.ConditionFalse, meta.HealthCheckFailedReason, r.Message)
	case r.Reason == report.AwaitingHealth:
		c.set(meta.HealthyCondition, metav1.ConditionUnknown, meta.ProgressingReason, "Running health checks")
	default:
		c.keep(meta.HealthyCondition)
	}
}

// unwell sets Healthy for an app whose health nothing waits for.
func (c *conditions) unwell(h health.Status) {
	switch {
	case h.Code == health.Unknown:
		c.set(meta.HealthyCondition, metav1.ConditionUnknown, string(h.Code), h.Message)
	case isUnhealthy(h):
		c.set(meta.HealthyCondition, metav1.ConditionFalse, string(h.Code), h.Message)
	}
}

// isUnhealthy reports whether the health is worse than that of an app on its way.
func isUnhealthy(h health.Status) bool {
	return h.Code == health.Degraded || h.Code == health.Missing || h.Code == health.Unknown
}

// inventory projects the objects that are in the cluster because of us: applied now, or listed before and still in Git, for whether one
// that could not be applied is there may not be known yet, and it costs nothing to list one that is gone. What Git has no more stays listed until it
// is pruned, which Flux does by this list. A run that
// ended before it knew its objects says nothing about them, and one that only observes has none: then the former list stays,
// which in a cluster with Flux is Flux's own record of what to prune.
func inventory(had *kustomizev1.ResourceInventory, r report.Report) *kustomizev1.ResourceInventory {
	early := slices.Contains([]report.Stage{"", report.Admit, report.Fetch, report.Depend, report.Render}, r.Stage)
	if early && len(r.Objects) == 0 || r.Applied == "" && !slices.ContainsFunc(r.Objects, applied) {
		return had
	}
	listed := versionsOf(had)
	now := map[string]string{}
	if !hasPruned(r) {
		now = maps.Clone(listed)
	}
	for _, o := range r.Objects {
		id := entryID(o.ID)
		if _, known := listed[id]; o.Applied || known {
			now[id] = o.Version
		}
	}
	for _, o := range r.Leaving {
		id := entryID(o.ID)
		if version := cmp.Or(o.Version, listed[id]); version != "" {
			now[id] = version
		}
	}
	entries := []kustomizev1.ResourceRef{}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		entries = append(entries, kustomizev1.ResourceRef{ID: id, Version: now[id]})
	}
	return &kustomizev1.ResourceInventory{Entries: entries}
}

// versionsOf are the API versions of the objects that an inventory lists.
func versionsOf(had *kustomizev1.ResourceInventory) map[string]string {
	out := map[string]string{}
	if had != nil {
		for _, e := range had.Entries {
			out[e.ID] = e.Version
		}
	}
	return out
}

// hasPruned reports whether a run came to its prune, and did not only observe.
func hasPruned(r report.Report) bool {
	observes := len(r.Objects) > 0 && !slices.ContainsFunc(r.Objects, applied)
	return !observes && slices.Contains([]report.Stage{report.Prune, report.Observe, report.Done}, r.Stage)
}

func applied(o report.Object) bool { return o.Applied }

// entryID is the form of cli-utils' ObjMetadata: no name of the API holds an underscore, and only RBAC's hold colons.
func entryID(id object.ID) string {
	return strings.Join([]string{id.Namespace, strings.ReplaceAll(id.Name, ":", "__"), id.Group, id.Kind}, "_")
}
