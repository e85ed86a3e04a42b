package argocd

import (
	"cmp"
	"fmt"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// The reasons of Argo CD's Events (util/argo/audit_logger.go).
const (
	resourceUpdated    = "ResourceUpdated"
	operationCompleted = "OperationCompleted"
)

// News returns what Argo CD reports by Events: another sync status, another health, the end of an operation.
func (Applications) News(before, now object.Object) []notify.Event {
	var had, is applicationStatus
	reader.DecodeStatus(object.Object{"status": map[string]any(before)}, &had)
	reader.DecodeStatus(object.Object{"status": map[string]any(now)}, &is)
	var out []notify.Event
	tell := func(n notify.Event) {
		n.Revision = oneText(is.Sync.Revision, is.Sync.Revisions)
		out = append(out, n)
	}
	if had.Sync.Status != is.Sync.Status {
		tell(notify.Event{Severity: notify.Info, Reason: resourceUpdated, Text: "Updated sync status: " + transition(had.Sync.Status, is.Sync.Status)})
	}
	if text := healthNews(had.Health, is.Health); text != "" {
		tell(notify.Event{Severity: healthSeverity(is.Health.Status), Reason: resourceUpdated, Text: text})
	}
	if o := is.OperationState; hasFinished(o) && (!hasFinished(had.OperationState) || had.OperationState.FinishedAt != o.FinishedAt) {
		n := notify.Event{Severity: notify.Info, Reason: operationCompleted, Text: "Sync operation" + revisionSuffix(o) + " succeeded"}
		if o.Phase != phaseSucceeded {
			n = notify.Event{Severity: notify.Error, Reason: operationCompleted, Text: fmt.Sprintf("Sync operation%s failed: %s", revisionSuffix(o), o.Message)}
		}
		tell(n)
	}
	return out
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

func revisionSuffix(o *operationState) string {
	if o.SyncResult == nil || oneText(o.SyncResult.Revision, o.SyncResult.Revisions) == "" {
		return ""
	}
	return " to " + oneText(o.SyncResult.Revision, o.SyncResult.Revisions)
}
