package flux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
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
		if diff := cmp.Diff(c.want, textOf(Kustomizations{}.News(c.before, c.now))); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

// textOf are events without what only those of releases have.
func textOf(all []notify.Event) string { return strings.ReplaceAll(fmt.Sprint(all), "  }", "}") }

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

// TestNewsOfAReleaseSayWhatItHasInstalled: the version of the application, and the digest of the chart's artifact; not of a release of another chart.
func TestNewsOfAReleaseSayWhatItHasInstalled(t *testing.T) {
	const digits = "0cc9a8446c95009ef382f5eade883a67c257f77d50f84e78ecef2aac9428d1e5"
	cr := object.Object{"spec": map[string]any{"chartRef": map[string]any{"kind": "OCIRepository", "name": "web"}}}
	of := func(revision string) notify.Event {
		t.Helper()
		installed := release.Installed{Name: "web", Namespace: "shop", Revision: 1, Status: hook.Deployed, Content: record.Content{Chart: "web", Version: "6.6.1+0cc9a8446c95", AppVersion: "6.6.1"}}
		status := HelmReleases{}.Status(cr, report.Report{Generation: 1, Reason: report.Succeeded, Revision: revision, Release: &installed})
		all := HelmReleases{}.News(nil, object.Object(status))
		if len(all) != 1 {
			t.Fatalf("events: %v", all)
		}
		return all[0]
	}
	if got := of("6.6.1@sha256:" + digits); got.Revision != "6.6.1+0cc9a8446c95" || got.AppVersion != "6.6.1" || got.Digest != "sha256:"+digits {
		t.Errorf("got %+v", got)
	}
	if got := of("6.6.2@sha256:1" + digits[1:]); got.AppVersion != "6.6.1" || got.Digest != "" {
		t.Errorf("of another artifact: %+v", got)
	}
	failed := standing("False", "ArtifactFailed", "no chart", "7.0.0")
	failed["history"] = []any{map[string]any{"chartVersion": "6.6.1", "appVersion": "6.6.1"}}
	if got := (HelmReleases{}).News(nil, failed); len(got) != 1 || got[0].AppVersion != "" {
		t.Errorf("of another chart: %+v", got)
	}
}

// TestWhatIsRemediedIsNewsToo: a remedy begins at once, often before a status has said what has failed.
func TestWhatIsRemediedIsNewsToo(t *testing.T) {
	with := func(ready string, more ...string) object.Object {
		out := standing("False", ready, "said of "+ready, "2.0.0")
		for i := 0; i < len(more); i += 3 {
			out["conditions"] = append(out["conditions"].([]any), map[string]any{"type": more[i], "status": more[i+1], "reason": more[i+2], "message": "said of " + more[i+2]})
		}
		return out
	}
	released, failed := []string{"Released", "True", "InstallSucceeded"}, []string{"Released", "False", "UpgradeFailed"}
	tested := []string{"Released", "True", "UpgradeSucceeded", "TestSuccess", "False", "TestFailed"}
	back := []string{"Remediated", "True", "RollbackSucceeded"}
	ignored := with("UpgradeSucceeded", tested...)
	ready := ignored["conditions"].([]any)[0].(map[string]any)
	ready["status"], ignored["lastAppliedRevision"] = "True", "2.0.0"
	const said = "{info RollbackSucceeded said of RollbackSucceeded 2.0.0}"
	for _, c := range []struct {
		before, now object.Object
		want        string
	}{
		{with("InstallSucceeded", released...), with("RollbackSucceeded", append(failed, back...)...), "[{error UpgradeFailed said of UpgradeFailed 2.0.0} " + said + "]"},
		{with("InstallSucceeded", released...), with("RollbackSucceeded", append(tested, back...)...), "[{error TestFailed said of TestFailed 2.0.0} " + said + "]"},
		{with("UpgradeFailed", failed...), with("RollbackSucceeded", append(failed, back...)...), "[" + said + "]"},
		{with("RollbackSucceeded", append(failed, back...)...), with("RollbackSucceeded", append(failed, back...)...), "[]"},
		{with("UpgradeFailed", failed...), with("TestFailed", tested...), "[{info UpgradeSucceeded said of UpgradeSucceeded 2.0.0} {error TestFailed said of TestFailed 2.0.0}]"},
		{with("InstallSucceeded", released...), ignored, "[{info UpgradeSucceeded said of UpgradeSucceeded 2.0.0} {error TestFailed said of TestFailed 2.0.0}]"},
		{with("InstallSucceeded", released...), with("UpgradeFailed", failed...), "[{error UpgradeFailed said of UpgradeFailed 2.0.0}]"},
	} {
		if diff := cmp.Diff(c.want, textOf(HelmReleases{}.News(c.before, c.now))); diff != "" {
			t.Error(diff)
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
