package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source"
)

// keptEntries is a journal that several processes write to, one after the other.
type keptEntries struct{ entries []journal.Entry }

func (k *keptEntries) Append(entries ...journal.Entry) { k.entries = append(k.entries, entries...) }

func (k *keptEntries) Read(journal.Query, func(journal.Entry) bool) error { return nil }

// Two revisions.
const one, two = "main@sha1:1", "main@sha1:2"

// ends is a run about a revision, which ends so.
func ends(e *Engine, a app.App, revision string, failed error) {
	a.Key = app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	r := e.begin(a)
	r.artifact = source.Artifact{Revision: revision, Commit: revision[len("main@sha1:"):]}
	r.report.Revision = revision
	if failed != nil {
		r.stopped(report.Apply, failed)
		return
	}
	r.done()
}

// TestARestartIsNoNewRevision: the journal has what an app does once, whichever process finds it so.
func TestARestartIsNoNewRevision(t *testing.T) {
	refused := errors.New("web.yaml:1: no kind Deploiment")
	waits := &stageError{report.DependencyNotReady, errors.New("dependency 'shop/db' is not ready")} // which is no attempt
	for name, c := range map[string]struct {
		before string  // that the first process has run about
		failed error   // with which it has stopped
		now    app.App // what the custom resource remembers when the second begins
		next   error
		want   []journal.EntryKind
	}{
		"a Kustomization":            {one, nil, app.App{CompletedRevision: one}, nil, []journal.EntryKind{journal.Applied}},
		"an Application":             {one, nil, app.App{ReachedRevision: "1"}, nil, []journal.EntryKind{journal.Applied}},
		"another revision":           {two, nil, app.App{CompletedRevision: two}, nil, []journal.EntryKind{journal.Applied, journal.Applied}},
		"the same failure":           {one, refused, app.App{AttemptedRevision: one, LastFailure: "apply: " + refused.Error()}, refused, []journal.EntryKind{journal.Failed}},
		"that of an Application":     {one, refused, app.App{AttemptedRevision: "1", LastFailure: refused.Error()}, refused, []journal.EntryKind{journal.Failed}},
		"that of another revision":   {two, refused, app.App{AttemptedRevision: two, LastFailure: refused.Error()}, refused, []journal.EntryKind{journal.Failed, journal.Failed}},
		"a dependency":               {one, waits, app.App{AttemptedRevision: two, LastFailure: waits.Error()}, waits, []journal.EntryKind{journal.Failed}},
		"objects that are not well":  {one, nil, app.App{CompletedRevision: two, AttemptedRevision: one}, nil, []journal.EntryKind{journal.Applied}},
		"another failure":            {one, refused, app.App{AttemptedRevision: one, LastFailure: refused.Error()}, errors.New("no access"), []journal.EntryKind{journal.Failed, journal.Failed}},
		"a failure that is over":     {one, refused, app.App{CompletedRevision: one, AttemptedRevision: one, LastFailure: refused.Error()}, nil, []journal.EntryKind{journal.Failed, journal.Applied}},
		"a failure after a success":  {one, nil, app.App{CompletedRevision: one}, refused, []journal.EntryKind{journal.Applied, journal.Failed}},
		"nothing that is remembered": {one, nil, app.App{}, nil, []journal.EntryKind{journal.Applied, journal.Applied}},
	} {
		noted := &keptEntries{}
		begin := func() *Engine {
			return NewEngine(Dependencies{Journal: noted, Now: func() time.Time { return time.Unix(1, 0) }}, nil)
		}
		ends(begin(), app.App{}, c.before, c.failed)
		e := begin()
		ends(e, c.now, one, &stageError{report.InProgress, errors.New("GitRepository shop/web has not been fetched yet")})
		ends(e, app.App{}, one, c.next)
		ends(e, app.App{}, one, c.next) // which the same process knows of
		var got []journal.EntryKind
		for _, entry := range noted.entries {
			got = append(got, entry.What)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestARestoreIsNoNewRevision: after the data of the server went back an app is brought to the revision that it had.
func TestARestoreIsNoNewRevision(t *testing.T) {
	noted := &keptEntries{}
	e := NewEngine(Dependencies{Journal: noted, Now: func() time.Time { return time.Unix(1, 0) }}, nil)
	ends(e, app.App{}, one, nil)
	e.StartOver()
	ends(e, app.App{}, one, nil)
	if len(noted.entries) != 1 {
		t.Errorf("noted: %+v", noted.entries)
	}
}
