package cli

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// TestHistoryHasTheNamesOfAllOtherJSON and those of the journal, which scripts may read.
func TestHistoryHasTheNamesOfAllOtherJSON(t *testing.T) {
	at := time.Date(2026, 11, 22, 20, 3, 57, 0, time.UTC)
	key := app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "cart"}
	list := newEntryListJSON([]journal.Entry{
		{At: at, App: key, What: journal.Corrected, Object: object.ID{Group: "apps", Kind: "Deployment", Namespace: "cart", Name: "cart"},
			Path: ".spec.replicas", Git: 3, Live: 5, Writer: "kubectl (scale)", Person: true, Evidence: "recorded", Place: "apps/cart/deployment.yaml:6"},
		{At: at, App: key, What: journal.Applied, Revision: "main@sha1:aaa"},
	})
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	const both = `"metadata": {"name": "cart", "namespace": "flux-system"}, "time": "2026-11-22T20:03:57Z", "at": "2026-11-22T20:03:57Z",
		"app": {"kind": "Kustomization", "namespace": "flux-system", "name": "cart", "Kind": "Kustomization", "Namespace": "flux-system", "Name": "cart"}`
	if err := json.Unmarshal([]byte(`{"apiVersion": "cli.truce.dev/v1", "kind": "HistoryEntryList", "items": [
		{`+both+`, "what": "corrected", "path": ".spec.replicas", "git": 3, "live": 5,
		"object": {"group": "apps", "kind": "Deployment", "namespace": "cart", "name": "cart", "Group": "apps", "Kind": "Deployment", "Namespace": "cart", "Name": "cart"},
		"setBy": {"name": "kubectl (scale)", "person": true, "evidence": "recorded"}, "writer": "kubectl (scale)", "person": true, "evidence": "recorded",
		"source": {"file": "apps/cart/deployment.yaml", "line": 6}, "place": "apps/cart/deployment.yaml:6"},
		{`+both+`, "what": "applied", "revision": "main@sha1:aaa"}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := json.Marshal(newEntryListJSON(nil)); err != nil || string(text) != `{"apiVersion":"cli.truce.dev/v1","kind":"HistoryEntryList","items":[]}` {
		t.Errorf("no entries: %s %v", text, err)
	}
}
