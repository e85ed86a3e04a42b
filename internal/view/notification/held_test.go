package notification

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// TestWhatTheControllerHoldsBackIsNotShown: the files of an app are gone for a moment, go with the app, or are missing.
func TestWhatTheControllerHoldsBackIsNotShown(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	entry := func(s int, what journal.EntryKind, of string) journal.Entry {
		return journal.Entry{At: start.Add(time.Duration(s) * time.Second), App: app.Key{Kind: key.Kind, Namespace: key.Namespace, Name: of}, What: what, Revision: "main@sha1:a", NoFiles: what == journal.Failed}
	}
	build := entry(3, journal.Failed, "web")
	build.NoFiles = false
	pruned := entry(3, journal.Pruned, "root")
	pruned.Object = object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	own := entry(3, journal.Pruned, "web")
	own.Revision = ""
	for name, c := range map[string]struct {
		then journal.Entry
		want []journal.EntryKind
	}{
		"the files are back":           {entry(3, journal.Applied, "web"), []journal.EntryKind{journal.Applied}},
		"they come too late":           {entry(30, journal.Applied, "web"), []journal.EntryKind{journal.Failed, journal.Applied}},
		"another app's run":            {entry(3, journal.Applied, "other"), []journal.EntryKind{journal.Applied, journal.Failed}},
		"another failure":              {build, []journal.EntryKind{journal.Failed}},
		"the app is pruned":            {pruned, []journal.EntryKind{journal.Pruned}},
		"the app goes with its own":    {own, []journal.EntryKind{journal.Pruned}},
		"it was degraded in that time": {entry(3, journal.Degraded, "web"), []journal.EntryKind{journal.Degraded, journal.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			got := dropHeld([]journal.Entry{entry(0, journal.Failed, "web"), c.then})
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %s", got, c.want)
			}
			for i, e := range got {
				if e.What != c.want[i] {
					t.Errorf("entry %d is %s at %s, want %s", i, e.What, e.At, c.want[i])
				}
			}
		})
	}
}
