package cli

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

func TestHistoryNamesTheWriterAndNotTheClaimant(t *testing.T) {
	e := journal.Entry{What: journal.Ceded, Object: object.ID{Kind: "Deployment", Namespace: "shop", Name: "web"}, Path: ".spec.replicas", Claimant: "HPA shop/web"}
	by := func(e journal.Entry) string { row := timelineRow(e); return row[len(row)-1] }
	if got := by(e); got != "unknown" {
		t.Errorf("BY is %q where no writer is known", got)
	}
	e.Writer, e.Manager, e.Evidence = "kubectl (scale)", "kubectl", "recorded"
	if got := by(e); got != "kubectl (scale)" {
		t.Errorf("BY is %q", got)
	}
}
