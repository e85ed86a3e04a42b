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

// News tells what Argo CD tells by Events: another sync status, another health, the end of an operation.
func (Applications) News(before, now object.Object) []notify.News {
	var had, is applicationStatus
	reader.Status(object.Object{"status": map[string]any(before)}, &had)
	reader.Status(object.Object{"status": map[string]any(now)}, &is)
	var out []notify.News
	tell := func(n notify.News) {
		n.Revision = is.Sync.Revision
		out = append(out, n)
	}
	if had.Sync.Status != is.Sync.Status {
		tell(notify.News{Severity: notify.Info, Reason: resourceUpdated, Text: "Updated sync status: " + turn(had.Sync.Status, is.Sync.Status)})
	}
	if text := healthNews(had.Health, is.Health); text != "" {
		tell(notify.News{Severity: gravity(is.Health.Status), Reason: resourceUpdated, Text: text})
	}
	if o := is.OperationState; ended(o) && (!ended(had.OperationState) || had.OperationState.FinishedAt != o.FinishedAt) {
		n := notify.News{Severity: notify.Info, Reason: operationCompleted, Text: "Sync operation" + to(o) + " succeeded"}
		if o.Phase != phaseSucceeded {
			n = notify.News{Severity: notify.Error, Reason: operationCompleted, Text: fmt.Sprintf("Sync operation%s failed: %s", to(o), o.Message)}
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
		return "Updated health status: " + turn(had.Status, is.Status) + ": " + is.Message
	case had.Status != is.Status:
		return "Updated health status: " + turn(had.Status, is.Status)
	case is.Status == degraded && had.Message != is.Message:
		return "Health status is still Degraded: " + is.Message
	}
	return ""
}

const degraded = "Degraded"

func turn(from, to string) string { return cmp.Or(from, "Unknown") + " -> " + cmp.Or(to, "Unknown") }

func gravity(health string) notify.Severity {
	if health == degraded {
		return notify.Error
	}
	return notify.Info
}

func ended(o *operationState) bool { return o != nil && o.Phase != phaseRunning && o.FinishedAt != "" }

func to(o *operationState) string {
	if o.SyncResult == nil || o.SyncResult.Revision == "" {
		return ""
	}
	return " to " + o.SyncResult.Revision
}
