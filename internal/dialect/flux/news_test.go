package flux

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func standing(ready, reason, message, revision string) object.Object {
	return object.Object{
		"conditions":            []any{map[string]any{"type": "Ready", "status": ready, "reason": reason, "message": message}},
		"lastAttemptedRevision": revision, "lastAppliedRevision": revision,
	}
}

// TestEachChangeOfHowAReconciliationEndsIsNews, and nothing else is.
func TestEachChangeOfHowAReconciliationEndsIsNews(t *testing.T) {
	good := standing("True", "ReconciliationSucceeded", "Applied revision: a", "a")
	for _, c := range []struct {
		what        string
		before, now object.Object
		want        string
	}{
		{"the first success", nil, good, "[{info ReconciliationSucceeded Applied revision: a a}]"},
		{"the same again", good, good, "[]"},
		{"another field is ceded", good, standing("True", "ReconciliationSucceeded", "Applied revision: a; 1 field ceded", "a"), "[]"},
		{"a new revision", good, standing("True", "ReconciliationSucceeded", "Applied revision: b", "b"), "[{info ReconciliationSucceeded Applied revision: b b}]"},
		{"under way", good, standing("Unknown", "Progressing", "…", "b"), "[]"},
		{"a failure", good, standing("False", "BuildFailed", "no such file", "b"), "[{error BuildFailed no such file b}]"},
		{"another failure", standing("False", "BuildFailed", "a", "b"), standing("False", "BuildFailed", "b", "b"), "[{error BuildFailed b b}]"},
		{"a status that is none", object.Object{"conditions": 1}, object.Object{"conditions": "x"}, "[]"},
	} {
		if diff := cmp.Diff(c.want, fmt.Sprint(Kustomizations{}.News(c.before, c.now))); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}
