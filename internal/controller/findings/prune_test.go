package findings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// TestAPruneNamesSomeAndCountsTheOthers, and advises to revert the commit only where a commit was why.
func TestAPruneNamesSomeAndCountsTheOthers(t *testing.T) {
	var gone []object.ID
	for i := range 12 {
		gone = append(gone, object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("c", i)})
	}
	m := PruneMessage("main@sha1:a", journal.LeftGit, gone)
	if !strings.HasPrefix(m.Text, "deleted, for Git no longer has it: ConfigMap shop/c0, ") || !strings.HasSuffix(m.Text, "shop/c9, and 2 more") || m.Evidence[notify.FactNext] == "" {
		t.Errorf("%s %v", m.Text, m.Evidence)
	}
	m = PruneMessage("main@sha1:a", "the upgrade that had made it has failed", gone[:1])
	if m.Text != "deleted, for the upgrade that had made it has failed: ConfigMap shop/c0" || m.Evidence[notify.FactNext] != "" {
		t.Errorf("%s %v", m.Text, m.Evidence)
	}
}
