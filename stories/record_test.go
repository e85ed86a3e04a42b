package stories

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// After any edit of it, the next revision need not wait for the next full check, which is an hour away: what is there is read, and added to.
func TestARecordThatSomebodyHasEditedHoldsUpNoRevision(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	const record = "truce-inventory-kustomization-app"
	text := func() string {
		s, _, _ := unstructured.NestedString(w.get(configmaps, record).Object, "data", "inventory.json")
		return s
	}
	w.until("the uids in the record", func() bool { return len(text()) > 0 && hasUIDs(t, text()) })
	w.patch(configmaps, record, map[string]any{"data": map[string]any{"inventory.json": text() + "\n"}}, "kubectl-edit")
	w.repo.Commit(w.inNamespace(gittest.Files(configMaps("app", "a", "b"))), "more")
	w.ready("app")
	if !w.isThere(configmaps, "b") {
		t.Error("b is not made")
	}
}

// hasUIDs reports whether a record lists objects, each with its uid (inventory.FormatRecord).
func hasUIDs(t *testing.T, text string) bool {
	t.Helper()
	r, err := inventory.ParseRecord([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Entries) > 0 && !slices.ContainsFunc(r.Entries, func(e inventory.Entry) bool { return e.UID == "" })
}
