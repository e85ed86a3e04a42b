package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// The reasons of Argo CD's Events (util/argo/audit_logger.go).
const (
	resourceUpdated    = "ResourceUpdated"
	operationCompleted = "OperationCompleted"
)

// compared is the reason of the news that an Application can be compared with Git again. That it cannot has the type of its condition.
const compared = "ComparisonSucceeded"

// overtaken is how a failed operation is over where none comes after it. Its message follows.
const overtaken = "it is in sync with Git, without a sync; the newest sync failed: "

// News returns what Argo CD reports by Events: another sync status, another health, the end of an operation; and what it reports by a condition alone: why the
// Application cannot be compared with Git.
func (Applications) News(before, now object.Object) []notify.Event {
	var had, is applicationStatus
	reader.DecodeStatus(object.Object{"status": map[string]any(before)}, &had)
	reader.DecodeStatus(object.Object{"status": map[string]any(now)}, &is)
	var out []notify.Event
	add := func(n notify.Event) {
		n.Revision = oneText(is.Sync.Revision, is.Sync.Revisions)
		out = append(out, n)
	}
	if had.Sync.Status != is.Sync.Status {
		add(notify.Event{Severity: notify.Info, Reason: resourceUpdated, Text: "Updated sync status: " + transition(had.Sync.Status, is.Sync.Status)})
	}
	if n, isNew := comparisonNews(had, is); isNew {
		out = append(out, n)
	}
	if text := healthNews(had.Health, is.Health); text != "" {
		add(notify.Event{Severity: healthSeverity(is.Health.Status), Reason: resourceUpdated, Text: text})
	}
	if o := is.OperationState; before == nil && hasFailed(o) && isOvertaken(is) {
		add(notify.Event{Severity: notify.Info, Reason: compared, Text: overtaken + o.Message})
	} else if operationEnded(had, is) {
		n := notify.Event{Severity: notify.Info, Reason: operationCompleted, Text: "Sync operation" + revisionSuffix(o) + " succeeded"}
		if hasFailed(o) {
			n = notify.Event{Severity: notify.Error, Reason: operationCompleted, Text: fmt.Sprintf("Sync operation%s failed: %s", revisionSuffix(o), o.Message)}
		}
		add(n)
	}
	return out
}

// comparisonNews is why an Application cannot be compared with Git, where that is another cause than before, and that all is well again, unless an operation says so
// by itself. It is about a revision where that is what fails, or is synced.
func comparisonNews(had, is applicationStatus) (notify.Event, bool) {
	before, now := incomparable(had.Conditions), incomparable(is.Conditions)
	n := notify.Event{Severity: notify.Error, Reason: now.Type, Text: now.Message, Revision: oneText(is.Sync.Revision, is.Sync.Revisions)}
	switch {
	case now.Type != "" && strings.HasSuffix(now.Message, comparedWithLast): // the source cannot be fetched
		n.Revision = ""
	case now.Type == "":
		n.Severity, n.Reason, n.Text = notify.Info, compared, "it is compared with Git again; it was: "+before.Message
		if before.Type == "" && hasFailed(had.OperationState) {
			n.Text = overtaken + had.OperationState.Message
		}
		if is.Sync.Status != string(report.Synced) {
			n.Revision = ""
		}
		return n, isFailing(had) && !isFailing(is) && !hasCondition(is.Conditions, deletionError) && (before.Type != "" || hasFailed(is.OperationState) && !operationEnded(had, is))
	}
	return n, before.Type != now.Type || before.Message != now.Message
}

// isFailing reports whether an Application cannot be compared with Git, or its newest operation has failed, and nothing has come after that: where a commit
// takes back what failed, the Application is in sync with another revision than that of the operation, and no other one begins.
func isFailing(s applicationStatus) bool {
	return incomparable(s.Conditions).Type != "" || hasFailed(s.OperationState) && !isOvertaken(s)
}

// isOvertaken reports whether an Application is in sync with another revision than that of its newest operation, and no hook of that has failed, which only
// another operation runs again.
func isOvertaken(s applicationStatus) bool {
	r := s.OperationState.SyncResult
	if r == nil || s.Sync.Status != string(report.Synced) {
		return false
	}
	if slices.ContainsFunc(r.Resources, func(o resourceResult) bool { return o.HookType != "" && o.HookPhase != phaseSucceeded }) {
		return false
	}
	of := oneText(r.Revision, r.Revisions)
	return of != "" && of != oneText(s.Sync.Revision, s.Sync.Revisions)
}

// incomparable is the condition that says why an Application cannot be compared with Git; the zero value for none.
func incomparable(all []condition) condition {
	for _, c := range all {
		if c.Type == invalidSpec || c.Type == comparison {
			return c
		}
	}
	return condition{}
}

func hasCondition(all []condition, kind string) bool {
	return slices.ContainsFunc(all, func(c condition) bool { return c.Type == kind })
}

// healthNews is another health with the object that is the reason, and of one that stays Degraded another reason: its pods are read a
// moment later. Empty for nothing new.
func healthNews(had, is healthStatus) string {
	switch {
	case had.Status != is.Status && is.Status == degraded && is.Message != "":
		return "Updated health status: " + transition(had.Status, is.Status) + ": " + is.Message
	case had.Status != is.Status:
		return "Updated health status: " + transition(had.Status, is.Status)
	case is.Status == degraded && had.Message != is.Message:
		return "Health status is still Degraded: " + is.Message
	}
	return ""
}

const degraded = "Degraded"

func transition(from, to string) string {
	return cmp.Or(from, "Unknown") + " -> " + cmp.Or(to, "Unknown")
}

func healthSeverity(health string) notify.Severity {
	if health == degraded {
		return notify.Error
	}
	return notify.Info
}

func hasFinished(o *operationState) bool {
	return o != nil && o.Phase != phaseRunning && o.FinishedAt != ""
}

// operationEnded reports whether an operation has finished since.
func operationEnded(had, is applicationStatus) bool {
	return hasFinished(is.OperationState) && (!hasFinished(had.OperationState) || had.OperationState.FinishedAt != is.OperationState.FinishedAt)
}

// hasFailed reports whether an operation has ended without success.
func hasFailed(o *operationState) bool { return hasFinished(o) && o.Phase != phaseSucceeded }

func revisionSuffix(o *operationState) string {
	if o.SyncResult == nil || oneText(o.SyncResult.Revision, o.SyncResult.Revisions) == "" {
		return ""
	}
	return " to " + oneText(o.SyncResult.Revision, o.SyncResult.Revisions)
}
