package journal_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

func TestFlapsCountWhatWasUndone(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	said := func(what journal.EntryKind, path string, live any, by string) journal.Entry {
		at = at.Add(time.Second)
		return journal.Entry{At: at, What: what, Object: web, Path: path, Git: 3, Live: live, Writer: by}
	}
	flaps := journal.Oscillations([]journal.Entry{
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
	said := func(what journal.EntryKind, place, begins, revision string) journal.Entry {
		return journal.Entry{What: what, Object: web, Path: ".spec.replicas", Git: 3, Live: 8, Place: place, Begins: begins, Revision: revision}
	}
	f := journal.Oscillations([]journal.Entry{
		said(journal.Corrected, "", "", "main@sha1:1"),
		said(journal.Ceded, "web.yaml:5", "web.yaml:1", "main@sha1:2"),
		said(journal.Ceded, "web.yaml:6", "web.yaml:1", "main@sha1:3"),
		said(journal.Ceded, "", "", "main@sha1:4"),
	})[0]
	if f.Place != "web.yaml:6" || f.Begins != "web.yaml:1" || f.Revision != "main@sha1:3" || !f.Ongoing() {
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
	f := journal.Oscillations(entries)[0]
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

func TestChangesCountValuesAndNotEntries(t *testing.T) {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	entry := func(minute int, what journal.EntryKind, live any) journal.Entry {
		return journal.Entry{At: at.Add(time.Duration(minute) * time.Minute), What: what, Object: id, Path: ".data.a", Git: "1", Live: live}
	}
	for name, c := range map[string]struct {
		entries []journal.Entry
		want    int
	}{
		"put back each time":               {[]journal.Entry{entry(0, journal.Corrected, "2"), entry(1, journal.Corrected, "2"), entry(2, journal.Contested, "2")}, 3},
		"noted again":                      {[]journal.Entry{entry(0, journal.Held, "2"), entry(1, journal.Held, "2"), entry(2, journal.Contested, "2")}, 1},
		"put back by others":               {[]journal.Entry{entry(0, journal.Held, "2"), entry(1, journal.Returned, "1"), entry(2, journal.Held, "2")}, 2},
		"ceded at one value after another": {[]journal.Entry{entry(0, journal.Ceded, int64(7)), entry(1, journal.Ceded, float64(7)), entry(2, journal.Ceded, int64(8))}, 2},
		"before the hour":                  {[]journal.Entry{entry(-70, journal.Corrected, "2"), entry(0, journal.Corrected, "2")}, 1},
	} {
		got := journal.Changes(c.entries, at.Add(-time.Hour))
		if len(got) != 1 || got[0].Times != c.want {
			t.Errorf("%s: %+v, want %d", name, got, c.want)
		}
	}
}
