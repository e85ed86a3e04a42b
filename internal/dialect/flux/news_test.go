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

// TestEachReleaseIsNews: other values make another release of the same chart.
func TestEachReleaseIsNews(t *testing.T) {
	made := func(release, more string) object.Object {
		return standing("True", "UpgradeSucceeded", "Helm upgrade succeeded for release shop/web."+release+" with chart web@1.0.0"+more, "1.0.0")
	}
	for _, c := range []struct {
		before, now object.Object
		news        int
	}{{made("v1", ""), made("v2", ""), 1}, {made("v2", ""), made("v2", ""), 0}, {made("v2", ""), made("v2", "; 1 field ceded"), 0}, {made("v1", ""), made("v10", ""), 1}, {nil, made("v1", ""), 1}} {
		if got := (HelmReleases{}).News(c.before, c.now); len(got) != c.news {
			t.Errorf("%v -> %v: %v", c.before, c.now, got)
		}
	}
}

// TestARevisionThatIsBroughtOutIsUnderWay, and one that was applied before is not, whatever its health is by now.
func TestARevisionThatIsBroughtOutIsUnderWay(t *testing.T) {
	waits := standing("Unknown", "Progressing", "waits for health", "b")
	waits["lastAppliedRevision"] = "a"
	for text, c := range map[string]struct {
		status object.Object
		want   bool
	}{
		"waits for health":       {waits, true},
		"of an applied revision": {standing("Unknown", "Progressing", "of an applied revision", "b"), false},
		"Applied revision: b":    {standing("True", "ReconciliationSucceeded", "Applied revision: b", "b"), false},
		"waits for another app":  {standing("False", "DependencyNotReady", "waits for another app", "b"), false},
		"":                       {nil, false},
	} {
		if got, is := (Kustomizations{}).Progress(c.status); got != text || is != c.want {
			t.Errorf("%q: got %q, %t", text, got, is)
		}
	}
}
