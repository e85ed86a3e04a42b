package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/source"
)

// announcing is a front whose users hear of each status that says something else than the one before.
type announcing struct{ *speaker }

func (announcing) News(before, now object.Object) []notify.Event {
	was, is := before.StringAt("said"), now.StringAt("said")
	if was == is {
		return nil
	}
	return []notify.Event{{Severity: notify.Error, Reason: "Said", Text: fmt.Sprintf("%s, was %q", is, was)}}
}

// heardOutlet remembers what it is given.
type heardOutlet struct{ said, again []string }

func lineOf(m notify.Message) string {
	return fmt.Sprint(m.Reason, " ", m.Matter.Kind, " ", m.Matter.Phase)
}

func (o *heardOutlet) Accept(m notify.Message)                   { o.said = append(o.said, lineOf(m)) }
func (o *heardOutlet) AcceptAgain(m notify.Message)              { o.again = append(o.again, lineOf(m)) }
func (o *heardOutlet) Settle(notify.Message, []notify.Matter)    {}
func (o *heardOutlet) Forget(notify.Message)                     {}
func (o *heardOutlet) Retain(notify.Message, map[object.ID]bool) {}
func (o *heardOutlet) Run(context.Context) error                 { return nil }

// setApp has the controller know the custom resource of an app, as a watch does.
func (c *Controller) setApp(t *testing.T, f dialect.Apps, cr object.Object) app.Key {
	t.Helper()
	key := app.Key{Kind: cr.ID().Kind, Namespace: cr.Namespace(), Name: cr.Name()}
	kept, err := c.packResource(cr.GVK(), cr)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.appSet[key]
	if e == nil {
		e = &appEntry{front: f, gvk: cr.GVK(), app: app.App{Key: key}}
		c.appSet[key] = e
	}
	e.kept = kept
	return key
}

// TestNewsOfAStatusWithoutAnAnswerIsReported: the server has taken the status, which the watch brings before it is written again.
func TestNewsOfAStatusWithoutAnAnswerIsReported(t *testing.T) {
	c, s, server := speaking(t)
	cr := func(says string) object.Object {
		o := resource()
		o["status"] = map[string]any{"said": says}
		return o
	}
	key := c.setApp(t, announcing{s}, cr("ready"))
	s.says = "not ready"
	server.silence(true)
	if again := c.writeStatus(t.Context(), key); again == 0 || len(c.events) > 0 {
		t.Fatalf("without an answer: again after %s, %d Events", again, len(c.events))
	}
	c.setApp(t, nil, cr("not ready"))
	for range 2 { // a status that says the same is no news
		if again := c.writeStatus(t.Context(), key); again > 0 {
			t.Fatalf("written again after %s", again)
		}
	}
	var got []string
	for len(c.events) > 0 {
		ev := <-c.events
		got = append(got, object.Object(ev.Object).StringAt("note"))
	}
	if diff := cmp.Diff([]string{`not ready, was "ready"`}, got); diff != "" {
		t.Errorf("the Events (-want +got):\n%s", diff)
	}
}

// ready is the status of a Kustomization.
func ready(status, reason string) map[string]any {
	return map[string]any{"lastAttemptedRevision": "main@sha1:a", "conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "m"}}}
}

// TestWhatAnEarlierProcessMayNotHaveSentIsForTheOutlet: once, after the first run, and only what lasts.
func TestWhatAnEarlierProcessMayNotHaveSentIsForTheOutlet(t *testing.T) {
	const incomparable = "ComparisonError"
	operated := map[string]any{
		"sync": map[string]any{"status": "Unknown"}, "health": map[string]any{"status": "Healthy"}, "operationState": map[string]any{"phase": "Succeeded", "finishedAt": "1"},
		"conditions": []any{map[string]any{"type": incomparable, "message": "no such file"}},
	}
	done := report.Report{Stage: report.Done, Reason: report.Succeeded}
	for name, x := range map[string]struct {
		front  dialect.Apps
		status map[string]any
		r      report.Report
		want   []string
	}{
		"a failure":                         {flux.Kustomizations{}, ready("False", "BuildFailed"), report.Report{Stage: report.Render, Reason: report.RenderFailed}, []string{"BuildFailed failure opens"}},
		"a success":                         {flux.Kustomizations{}, ready("True", "ReconciliationSucceeded"), done, []string{"ReconciliationSucceeded failure ends"}},
		"before the first run":              {flux.Kustomizations{}, ready("False", "BuildFailed"), report.Report{Running: true}, nil},
		"an app that is suspended":          {flux.Kustomizations{}, ready("False", "BuildFailed"), report.Report{Stage: report.Admit, Reason: report.Suspended}, nil},
		"an app that waits":                 {flux.Kustomizations{}, ready("False", "DependencyNotReady"), report.Report{Stage: report.Depend, Reason: report.DependencyNotReady}, nil},
		"what does not build, after a sync": {argocd.Applications{}, operated, report.Report{Stage: report.Render, Reason: report.RenderFailed}, []string{incomparable + " failure opens", "ResourceUpdated health ends"}},
	} {
		c, _, _ := speaking(t)
		o := &heardOutlet{}
		c.Outlet = o
		cr := resource()
		cr["status"] = x.status
		key := c.setApp(t, x.front, cr)
		for range 2 {
			e, _ := c.entry(key)
			c.emitNews(e, x.status, x.r)
		}
		if len(o.said) > 0 || len(c.events) > 0 || !slices.Equal(o.again, x.want) {
			t.Errorf("%s: %q again, want %q; %q is news, %d Events", name, o.again, x.want, o.said, len(c.events))
		}
	}
}

// TestWhatAnEarlierProcessMayNotHaveSentOfASource: at the first look at it, as of an app.
func TestWhatAnEarlierProcessMayNotHaveSentOfASource(t *testing.T) {
	for status, want := range map[string]string{"False": "GitOperationFailed failure opens", "True": "GitOperationFailed failure ends"} {
		c, _, _ := speaking(t)
		o := &heardOutlet{}
		c.Outlet = o
		cr := resource()
		cr["status"] = ready(status, "GitOperationFailed")
		known := &sourceEntry{cr: cr}
		for range 2 {
			c.reportSourceNews(known, cr, source.Artifact{}, object.Object(cr["status"].(map[string]any)))
		}
		if len(o.said) > 0 || len(c.events) > 0 || !slices.Equal(o.again, []string{want}) {
			t.Errorf("%s: %q again, want %q; %q is news, %d Events", status, o.again, want, o.said, len(c.events))
		}
	}
}
