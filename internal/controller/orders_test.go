package controller

import (
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
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
