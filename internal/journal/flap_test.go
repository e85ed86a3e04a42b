package journal_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/journal"
	"github.com/truce-gitops/truce/internal/object"
)

func TestFlapsCountWhatWasUndone(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	said := func(what journal.What, path string, live any, by string) journal.Entry {
		at = at.Add(time.Second)
		return journal.Entry{At: at, What: what, Object: web, Path: path, Git: 3, Live: live, Writer: by}
	}
	flaps := journal.Flaps([]journal.Entry{
		said(journal.Corrected, ".spec.paused", true, "kubectl-edit"),
		said(journal.Corrected, ".spec.replicas", 8, "HPA shop/web"),
		said(journal.Corrected, ".spec.replicas", 8, "HPA shop/web"),
		said(journal.Contested, ".spec.replicas", 9, "HPA shop/web"),
		{At: at, What: journal.Applied, Revision: "main@sha1:1"},
	})
	if len(flaps) != 2 {
		t.Fatalf("%d fields, want 2", len(flaps))
	}
	f := flaps[0]
	if f.Path != ".spec.replicas" || f.Corrections != 2 || f.Reversals != 2 || !f.Contested || len(f.Writers) != 1 || len(f.Values) != 5 {
		t.Errorf("%+v", f)
	}
	if flaps[1].Reversals != 0 || flaps[1].Corrections != 1 {
		t.Errorf("%+v", flaps[1])
	}
}

func TestTheNewestPlaceInGitThatWasNotedCounts(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	said := func(what journal.What, place, begins, revision string) journal.Entry {
		return journal.Entry{What: what, Object: web, Path: ".spec.replicas", Git: 3, Live: 8, Place: place, Begins: begins, Revision: revision}
	}
	f := journal.Flaps([]journal.Entry{
		said(journal.Corrected, "", "", "main@sha1:1"),
		said(journal.Ceded, "web.yaml:5", "web.yaml:1", "main@sha1:2"),
		said(journal.Ceded, "web.yaml:6", "web.yaml:1", "main@sha1:3"),
		said(journal.Ceded, "", "", "main@sha1:4"),
	})[0]
	if f.Place != "web.yaml:6" || f.Begins != "web.yaml:1" || f.Revision != "main@sha1:3" || !f.Unended() {
		t.Errorf("%+v", f)
	}
}

func TestAFightThatIsOnlyObservedIsAFlap(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var entries []journal.Entry
	for range 3 {
		entries = append(entries,
			journal.Entry{At: at, What: journal.Ceded, Object: object.ID{Name: "web"}, Path: ".spec.replicas", Git: 3, Live: 8, Writer: "HPA shop/web"},
			journal.Entry{At: at, What: journal.Returned, Object: object.ID{Name: "web"}, Path: ".spec.replicas", Git: 3, Live: 3, Writer: "kustomize-controller"})
	}
	f := journal.Flaps(entries)[0]
	if f.Corrections != 3 || f.Reversals != 2 || len(f.Writers) != 1 || len(f.Restorers) != 1 || f.Restorers[0] != "kustomize-controller" {
		t.Errorf("%+v", f)
	}
}

func TestAnEntryNamesThePersonBehindTheManager(t *testing.T) {
	e := journal.Entry{Writer: "kubectl (scale)", Manager: "kubectl", User: "alice", Evidence: "recorded"}
	if got := e.By(); got != "kubectl (scale) as alice" {
		t.Errorf("%q", got)
	}
	if got := (journal.Entry{Writer: "HPA shop/web", Evidence: "inferred"}).By(); got != "HPA shop/web (inferred)" {
		t.Errorf("%q: a guess is shown as a fact", got)
	}
}
