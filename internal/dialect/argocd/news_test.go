package argocd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func standing(sync, health, phase, ended string) object.Object {
	return object.Object{
		"sync": map[string]any{"status": sync, "revision": "r"}, "health": map[string]any{"status": health},
		"operationState": map[string]any{"phase": phase, "finishedAt": ended, "message": "why", "syncResult": map[string]any{"revision": "r"}},
	}
}

// because is a status whose health has a message.
func because(status object.Object, message string) object.Object {
	status["health"].(map[string]any)["message"] = message
	return status
}

// with is a status with a condition.
func withCondition(status object.Object, kind, message string) object.Object {
	status["conditions"] = []any{map[string]any{"type": kind, "message": message}}
	return status
}

// laterIn is a status of a revision that its newest operation is not of.
func laterIn(sync, phase string) object.Object {
	out := standing(sync, "Healthy", phase, "1")
	out["sync"].(map[string]any)["revision"] = "r2"
	return out
}

// hookFailed is a status whose newest operation has run a hook that failed.
func hookFailed(status object.Object) object.Object {
	result := status["operationState"].(map[string]any)["syncResult"].(map[string]any)
	result["resources"] = []any{map[string]any{"kind": "Job", "name": "migrate", "hookType": "PostSync", "hookPhase": "Failed"}}
	return status
}

// TestWhatCannotBeComparedIsAnError: with its cause, as often as that changes. Its end is one, unless a sync has failed, which only another sync ends.
func TestWhatCannotBeComparedIsAnError(t *testing.T) {
	status := func(phase, kind, message string) object.Object {
		return withCondition(standing("Synced", "Healthy", phase, "1"), kind, message)
	}
	const unfetched = "no route; compared with main@sha1:r, the last revision that was fetched"
	good, bad := standing("Synced", "Healthy", "Succeeded", "1"), status("Succeeded", "ComparisonError", "no such file")
	drifted := standing("OutOfSync", "Healthy", "Succeeded", "1")
	const again = "it is compared with Git again; it was: no such file"
	for _, c := range []struct {
		what        string
		before, now object.Object
		want        string
	}{
		{"a build that fails", good, bad, "[{error ComparisonError no such file r}]"},
		{"a spec that is refused", good, status("Succeeded", "InvalidSpecError", "spec.project"), "[{error InvalidSpecError spec.project r}]"},
		{"the same", bad, bad, "[]"},
		{"another cause", bad, status("Succeeded", "ComparisonError", "no such key"), "[{error ComparisonError no such key r}]"},
		{"a source that is not fetched is no result of a revision", good, status("Succeeded", "ComparisonError", unfetched), "[{error ComparisonError " + unfetched + " }]"},
		{"the end", bad, good, "[{info ComparisonSucceeded " + again + " r}]"},
		{"the end, and another revision", withCondition(standing("OutOfSync", "Healthy", "Succeeded", "1"), "ComparisonError", "no such file"), drifted, "[{info ComparisonSucceeded " + again + " }]"},
		{"the end, where the newest sync has failed", status("Failed", "ComparisonError", "no such file"), standing("Synced", "Healthy", "Failed", "1"), "[]"},
		{"the end, as a commit takes back what failed", status("Failed", "ComparisonError", "no such file"), laterIn("Synced", "Failed"), "[{info ComparisonSucceeded " + again + " r2}]"},
		{"a failed sync is past, as a commit takes back what failed", standing("OutOfSync", "Healthy", "Failed", "1"), laterIn("Synced", "Failed"),
			"[{info ResourceUpdated Updated sync status: OutOfSync -> Synced r2} {info ComparisonSucceeded it is in sync with Git, without a sync; the newest sync failed: why r2}]"},
		{"the next operation is under way", standing("OutOfSync", "Healthy", "Failed", "1"), standing("OutOfSync", "Healthy", "Running", ""), "[]"},
		{"a failed sync is past at a start", nil, laterIn("Synced", "Failed"),
			"[{info ResourceUpdated Updated sync status: Unknown -> Synced r2} {info ResourceUpdated Updated health status: Unknown -> Healthy r2} " +
				"{info ComparisonSucceeded it is in sync with Git, without a sync; the newest sync failed: why r2}]"},
		{"its hook has failed", standing("OutOfSync", "Healthy", "Failed", "1"), hookFailed(laterIn("Synced", "Failed")), "[{info ResourceUpdated Updated sync status: OutOfSync -> Synced r2}]"},
		{"it differs from another revision", standing("OutOfSync", "Healthy", "Failed", "1"), laterIn("OutOfSync", "Failed"), "[]"},
		{"the same a moment later", laterIn("Synced", "Failed"), laterIn("Synced", "Failed"), "[]"},
		{"the end, for the Application is deleted", bad, status("Succeeded", "DeletionError", "refused"), "[]"},
		{"a sync that fails has news of its own", good, status("Succeeded", "SyncError", "refused"), "[]"},
	} {
		if diff := cmp.Diff(c.want, strings.ReplaceAll(fmt.Sprint(Applications{}.News(c.before, c.now)), "  }", "}")); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

func TestWhatArgoCDTellsByEventsIsNews(t *testing.T) {
	good := standing("Synced", "Healthy", "Succeeded", "1")
	for _, c := range []struct {
		what        string
		before, now object.Object
		want        string
	}{
		{"the same", good, good, "[]"},
		{"the first", nil, standing("Synced", "Progressing", "Running", ""),
			"[{info ResourceUpdated Updated sync status: Unknown -> Synced r} {info ResourceUpdated Updated health status: Unknown -> Progressing r}]"},
		{"out of sync", good, standing("OutOfSync", "Healthy", "Succeeded", "1"), "[{info ResourceUpdated Updated sync status: Synced -> OutOfSync r}]"},
		{"degraded", good, standing("Synced", "Degraded", "Succeeded", "1"), "[{error ResourceUpdated Updated health status: Healthy -> Degraded r}]"},
		{"degraded, and why", good, because(standing("Synced", "Degraded", "Succeeded", "1"), "too late"),
			"[{error ResourceUpdated Updated health status: Healthy -> Degraded: too late r}]"},
		{"another reason", because(standing("Synced", "Degraded", "Succeeded", "1"), "too late"), because(standing("Synced", "Degraded", "Succeeded", "1"), "CrashLoopBackOff; too late"),
			"[{error ResourceUpdated Health status is still Degraded: CrashLoopBackOff; too late r}]"},
		{"another step", because(standing("Synced", "Progressing", "Succeeded", "1"), "1 of 2"), because(standing("Synced", "Progressing", "Succeeded", "1"), "2 of 2"), "[]"},
		{"another sync", good, standing("Synced", "Healthy", "Succeeded", "2"), "[{info OperationCompleted Sync operation to r succeeded r}]"},
		{"a sync begins", good, standing("Synced", "Healthy", "Running", ""), "[]"},
		{"a sync fails", standing("Synced", "Healthy", "Running", ""), standing("Synced", "Healthy", "Failed", "2"), "[{error OperationCompleted Sync operation to r failed: why r}]"},
		{"a status that is none", object.Object{"sync": 1}, object.Object{"health": "x"}, "[]"},
	} {
		if diff := cmp.Diff(c.want, strings.ReplaceAll(fmt.Sprint(Applications{}.News(c.before, c.now)), "  }", "}")); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}
