package controller

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// operating is an Application with an operation of Argo CD's on an older revision, in a phase, and in a mode.
func operating(phase, mode string) object.Object {
	return object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": "web", "namespace": "argocd", "uid": "u", "annotations": map[string]any{"truce.dev/mode": mode}},
		"spec": map[string]any{
			"source":      map[string]any{"repoURL": "https://git.example/web", "path": "web", "targetRevision": "main"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc"},
		},
		"status": map[string]any{"operationState": map[string]any{
			"phase": phase, "startedAt": "2026-11-21T10:00:00Z", "operation": map[string]any{"sync": map[string]any{"revision": "v1"}},
		}},
	}
}

// TestAnOrderIsTakenUpOnlyWhereItIsCarriedOut feeds an entry the forms of an Application, one after the other.
func TestAnOrderIsTakenUpOnlyWhereItIsCarriedOut(t *testing.T) {
	const running, ended = "Running", "Succeeded"
	type form struct{ phase, mode string }
	for name, c := range map[string]struct {
		forms []form
		order bool
		at    string // the revision that is followed
	}{
		"of an earlier process":                         {[]form{{running, "enforce"}}, true, "v1"},
		"of Argo CD":                                    {[]form{{running, "observe"}}, false, "main"},
		"of Argo CD, which has ended it":                {[]form{{running, "observe"}, {ended, "observe"}}, false, "main"},
		"of Argo CD, which has ended it, then adopted":  {[]form{{running, "observe"}, {ended, "observe"}, {ended, "enforce"}}, false, "main"},
		"of Argo CD, which was stopped, then adopted":   {[]form{{running, "observe"}, {running, "enforce"}}, true, "v1"},
		"of an earlier process, then only observed":     {[]form{{running, "enforce"}, {running, "observe"}}, false, "main"},
		"of an earlier process, observed for some time": {[]form{{running, "enforce"}, {running, "observe"}, {running, "enforce"}}, true, "v1"},
	} {
		ctl := NewController(Options{}, reconcile.Dependencies{})
		e := &appEntry{front: argocd.Applications{}}
		for _, f := range c.forms {
			cr := operating(f.phase, f.mode)
			seen, err := ctl.observeApp(e, live.Event{GVK: cr.GVK(), Object: cr})
			if err != nil {
				t.Fatal(err)
			}
			ctl.updateEntry(e, seen)
		}
		if has := e.order.Token != ""; has != c.order || e.app.Source.Revision != c.at {
			t.Errorf("%s: an order is under way: %v, at %s; want %v, at %s (mode %s)", name, has, e.app.Source.Revision, c.order, c.at, e.app.Policy.Mode)
		}
		if e.wants.Token != "" {
			t.Errorf("%s: it is begun again", name)
		}
	}
}

// TestAnAutomatedOrderIsResumed: an ApplicationSet's rolling sync asks for such, by the field operation. Without the field it is truce's own, and begun again by its
// reason.
func TestAnAutomatedOrderIsResumed(t *testing.T) {
	for name, c := range map[string]struct {
		phase        string
		field, order bool
	}{
		"of a rolling sync":                      {"Running", true, true},
		"of a rolling sync, which a person ends": {"Terminating", true, true},
		"of a new revision":                      {"Running", false, false},
		"of a new revision, which a person ends": {"Terminating", false, false},
	} {
		cr := operating(c.phase, "enforce")
		operation := map[string]any{"sync": map[string]any{"revision": "v1"}, "initiatedBy": map[string]any{"username": "applicationset-controller", "automated": true}}
		cr.At("status", "operationState").(map[string]any)["operation"] = operation
		if c.field {
			cr["operation"] = operation
		}
		ctl := NewController(Options{}, reconcile.Dependencies{})
		e := &appEntry{front: argocd.Applications{}}
		seen, err := ctl.observeApp(e, live.Event{GVK: cr.GVK(), Object: cr})
		if err != nil {
			t.Fatal(err)
		}
		ctl.updateEntry(e, seen)
		a := e.app
		if has := e.order.Token != ""; has != c.order || e.order.Automated != c.order || e.wants.Token != "" {
			t.Errorf("%s: an order is under way: %v, want %v: %+v", name, has, c.order, e.order)
		}
		if a.Terminating != (c.phase == "Terminating") || a.TerminatingRequest != map[bool]string{true: e.order.Token}[a.Terminating] {
			t.Errorf("%s: a person ends the order %q: %v; it is %q", name, a.TerminatingRequest, a.Terminating, e.order.Token)
		}
		if left := !a.LeftOperation.Begun.IsZero(); left == c.order {
			t.Errorf("%s: an operation of truce's own is left: %v", name, left)
		}
	}
}

// noFiles has no artifact of any source.
type noFiles struct{ reconcile.Sources }

func (noFiles) Artifact(app.SourceKey) (source.Artifact, error) {
	return source.Artifact{}, errors.New("not fetched")
}

func (noFiles) Readers(app.SourceKey) []app.Key { return nil }

// TestASecondRefreshIsNotAnsweredByTheFirst: the annotation has the same text each time, and is taken off by the answer.
func TestASecondRefreshIsNotAnsweredByTheFirst(t *testing.T) {
	ctl := NewController(Options{}, reconcile.Dependencies{Now: time.Now})
	engine := ctl.targets.own.engine
	engine.Sources = noFiles{}
	e := &appEntry{front: argocd.Applications{}}
	show := func(refresh string) (object.Object, int) {
		cr := operating("Succeeded", "enforce")
		if refresh != "" {
			cr.Metadata()["annotations"] = map[string]any{"argocd.argoproj.io/refresh": refresh}
		}
		seen, err := ctl.observeApp(e, live.Event{GVK: cr.GVK(), Object: cr})
		if err != nil {
			t.Fatal(err)
		}
		ctl.updateEntry(e, seen)
		return cr, len(e.front.AnsweredRequests(cr, engine.Report(e.app.Key)))
	}
	cr, answered := show("normal")
	r := engine.App(t.Context(), e.app)
	if now := len(e.front.AnsweredRequests(cr, r)); answered > 0 || now != 1 {
		t.Fatalf("before the run %d requests are answered, after it %d: %s %s", answered, now, r.Reason, r.Message)
	}
	show("")
	if _, answered := show("normal"); answered > 0 {
		t.Error("the second one is answered before a run has begun")
	}
}

// TestAfterAnOrderTheAppsOwnRevisionIsFetched is about a process that began with the order, and has only its revision.
func TestAfterAnOrderTheAppsOwnRevisionIsFetched(t *testing.T) {
	cr := operating("Running", "enforce")
	ctl := NewController(Options{Kinds: Kinds{Inline: map[object.GVK]dialect.Sources{cr.GVK(): argocd.Repositories{}}}}, reconcile.Dependencies{})
	e := &appEntry{front: argocd.Applications{}, gvk: cr.GVK()}
	seen, err := ctl.observeApp(e, live.Event{GVK: cr.GVK(), Object: cr})
	if err != nil {
		t.Fatal(err)
	}
	ctl.updateEntry(e, seen)
	during := e.app
	ctl.appSet[during.Key] = e
	ctl.attachSource(during.Key)

	now := time.Now()
	ctl.schedule(during.Key, during, report.Report{Stage: report.Done, Reason: report.Succeeded, At: now, Rollout: report.Rollout{
		Order: e.order, Begun: now, Ended: now, Reason: report.Succeeded,
	}})
	want := during.Source
	want.Revision = "main"
	if diff := cmp.Diff([]app.SourceKey{want}, slices.Collect(maps.Keys(ctl.sourceSet))); diff != "" {
		t.Errorf("the sources that are fetched (-want +got):\n%s", diff)
	}
}

// TestOfAnAppThatHasChangedAgainTheNewestSourceIsFetched: an answer of the server and the watch change an app on two goroutines, and what the older change
// asks for may come last.
func TestOfAnAppThatHasChangedAgainTheNewestSourceIsFetched(t *testing.T) {
	f := argocd.Applications{}
	at := func(revision, version string) live.Event {
		cr := operating("Succeeded", "enforce")
		cr.Metadata()["resourceVersion"] = version
		cr.At("spec", "source").(map[string]any)["targetRevision"] = revision
		return live.Event{ID: cr.ID(), GVK: cr.GVK(), Object: cr, Depth: live.Full}
	}
	gone := at("b", "3")
	gone.Gone = true
	for name, c := range map[string]struct {
		next live.Event
		want []string
	}{
		"it is gone":           {gone, nil},
		"it has a third one":   {at("c", "3"), []string{"c"}},
		"it has the first one": {at("a", "3"), []string{"a"}},
	} {
		first := at("a", "1")
		ctl := NewController(Options{Kinds: Kinds{Inline: map[object.GVK]dialect.Sources{first.GVK: argocd.Repositories{}}}}, reconcile.Dependencies{})
		ctl.onAppEvent(f, first)
		e := ctl.appSet[appKeyOf(first.ID)]
		second := at("b", "2")
		seen, err := ctl.observeApp(e, second)
		if err != nil {
			t.Fatal(err)
		}
		changed := ctl.replaceEntry(e, seen)
		ctl.onAppEvent(f, c.next)
		ctl.followChange(second.ID, changed)
		var got []string
		for key := range ctl.sourceSet {
			got = append(got, key.Revision)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: the sources that are fetched (-want +got):\n%s", name, diff)
		}
	}
}
