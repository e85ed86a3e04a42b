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
