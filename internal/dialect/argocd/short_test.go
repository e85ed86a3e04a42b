package argocd

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// large is an Application of 6,000 objects, and the report of an operation about all of them and a hook.
func large(t *testing.T) (object.Object, report.Report) {
	t.Helper()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r := report.Report{
		App: app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}, Stage: report.Done, Reason: report.Succeeded, Revision: "main@sha1:aaa", Applied: "main@sha1:aaa", At: at, Seen: at,
		Rollout: report.Rollout{Revision: "main@sha1:aaa", Begun: at, Ended: at.Add(time.Minute), Reason: report.Succeeded},
	}
	job := object.ID{Group: "batch", Kind: "Job", Namespace: "web", Name: "before"}
	r.Hooks = []report.Object{{ID: job, Version: "v1"}}
	r.Rollout.Hooks = []hook.Outcome{{ID: job, Version: "v1", Event: hook.PreSync, Run: hook.Run{Phase: hook.Succeeded}}}
	for i := range 6000 {
		id := object.ID{Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprintf("settings-of-the-shop-%d", i)}
		r.Objects = append(r.Objects, report.Object{ID: id, Version: "v1", UID: "u", Applied: true, Judged: true, Health: health.Status{Code: health.Healthy}})
		r.Rollout.Outcomes = append(r.Rollout.Outcomes, report.Outcome{ListedObject: report.ListedObject{ID: id, Version: "v1"}, Fate: report.Brought})
	}
	return given.Object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example/web, path: web, targetRevision: main}
  destination: {name: in-cluster, namespace: web}
`), r
}

// listsOf is how many objects the two lists of a status name, and which of them the conditions say are left out.
func listsOf(t *testing.T, status map[string]any) []any {
	t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var s applicationStatus
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	out := []any{len(s.Resources), len(s.OperationState.SyncResult.Resources)}
	for _, c := range s.Conditions {
		switch c.Message {
		case resultsOmitted:
			out = append(out, "no results since "+c.LastTransitionTime)
		case objectsOmitted:
			out = append(out, "no objects since "+c.LastTransitionTime)
		}
	}
	return out
}

// TestAShortStatusHasWhatItsClientsWaitFor leaves lists out, says so, and keeps what the hooks have left.
func TestAShortStatusHasWhatItsClientsWaitFor(t *testing.T) {
	const results, objects = "no results since 2026-11-21T10:00:00Z", "no objects since 2026-11-21T10:00:00Z"
	cr, r := large(t)
	for step, want := range [][]any{{6001, 6001}, {6001, 1, results}, {1, 1, results, objects}} {
		status := Applications{}.ShortStatus(cr, r, step)
		if diff := cmp.Diff(want, listsOf(t, status)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", step, diff)
		}
		if phase := object.Object(status).StringAt("operationState", "phase"); phase != phaseSucceeded {
			t.Errorf("step %d: the operation is %s", step, phase)
		}
	}
	if got := (Applications{}).ShortStatus(cr, r, 3); got != nil {
		t.Errorf("there is a third step: %v", listsOf(t, got))
	}
	if diff := cmp.Diff((Applications{}).Status(cr, r), (Applications{}).ShortStatus(cr, r, 0)); diff != "" {
		t.Errorf("the whole status is another one (-Status +ShortStatus):\n%s", diff)
	}
}

// TestAConditionSaysWhichListsAreLeftOut as long as they are.
func TestAConditionSaysWhichListsAreLeftOut(t *testing.T) {
	const results, objects = "no results since 2026-11-21T10:00:00Z", "no objects since 2026-11-21T10:00:00Z"
	cr, whole := large(t)
	cr["status"] = object.CloneValue(Applications{}.ShortStatus(cr, whole, 2))
	later := whole
	later.At, later.Seen = whole.At.Add(time.Hour), whole.Seen.Add(time.Hour)
	if diff := cmp.Diff(cr["status"], any(Applications{}.ShortStatus(cr, later, 2))); diff != "" {
		t.Errorf("an hour later, when nothing has happened, the status is another (-first +second):\n%s", diff)
	}
	unfetched, restarted := later, later
	unfetched.Stage, unfetched.Reason, unfetched.Objects, unfetched.Hooks = report.Fetch, report.SourceNotReady, nil, nil
	restarted.Rollout = report.Rollout{}
	for what, x := range map[string]struct {
		r    report.Report
		want []any
	}{
		"when all fits again":      {later, []any{6001, 6001}},
		"while the source is away": {unfetched, []any{1, 6001, objects}},
		"of an earlier process's":  {restarted, []any{6001, 1, results}},
	} {
		if diff := cmp.Diff(x.want, listsOf(t, Applications{}.Status(cr, x.r))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
