package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartWithFarewell is chartOfConfig with a hook that comes before its end, and one that comes before each upgrade.
const chartWithFarewell = chartOfConfig + `
-- charts/web/templates/hooks.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: farewell, annotations: {helm.sh/hook: pre-delete}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "upgrade-{{ .Values.env }}", annotations: {helm.sh/hook: pre-upgrade}}
`

// TestTwoHelmReleasesOfOneName: the second one is refused before its chart is rendered. Its values make no release, its hooks do not run, and its end
// uninstalls nothing. When the first gives the release up, the second has it.
func TestTwoHelmReleasesOfOneName(t *testing.T) {
	const shared = "  releaseName: shared\n  driftDetection: {mode: enabled}\n"
	w := offWorld(t, chartWithFarewell)
	stop := w.run(compose.RunOptions{})
	w.release("one", shared+"  values: {env: one}\n")
	w.helmCondition("one", "Ready", isTrue)
	w.release("two", shared+"  values: {env: two}\n  upgrade: {remediation: {retries: -1, strategy: uninstall}}\n")
	refused := func() {
		t.Helper()
		w.helmFails("two", "release "+w.ns+"/shared, stored in namespace "+w.ns+", is that of HelmRelease "+w.ns+"/one")
	}
	refused()
	holds := func(env, stored string) {
		t.Helper()
		if got := text(w.get(configmaps, "shared"), "data", "env") + " " + w.storedReleases("shared"); got != env+" "+stored {
			t.Errorf("the object and the stored releases are %s, want %s %s", got, env, stored)
		}
		for _, hook := range []string{"farewell", "upgrade-two"} {
			if w.isThere(configmaps, hook) {
				t.Errorf("the hook %s has run", hook)
			}
		}
	}
	for _, token := range []string{"first", "second"} {
		w.looksAgain("one", token)
		w.looksAgain("two", token)
	}
	holds("one", "1:deployed")

	// Another truce knows it by what is stored, and the end of the second changes nothing.
	stop()
	w.start(policy.Policy{})
	w.looksAgain("two", "restarted")
	refused()
	w.delete(helmReleases, w.ns, "two")
	w.goes(helmReleases, "two")
	w.looksAgain("one", "alone")
	holds("one", "1:deployed")

	// One that gets the name of a release that is another's keeps the release that it has.
	w.release("two", "  releaseName: second\n  values: {env: two}\n")
	w.helmCondition("two", "Ready", isTrue)
	w.release("two", shared+"  values: {env: two}\n")
	refused()
	holds("one", "1:deployed")
	if got := text(w.get(configmaps, "second"), "data", "env") + " " + w.storedReleases("second"); got != "two 1:deployed" {
		t.Errorf("the release that it had is %s", got)
	}

	// It has the release as soon as the first one asks for another.
	w.delete(helmReleases, w.ns, "one")
	w.holds("shared", "env", "two")
	w.helmCondition("two", "Ready", isTrue)
	if got := w.storedReleases("shared"); got != "1:deployed" {
		t.Errorf("the stored releases are %s", got)
	}
	w.goes(configmaps, "second")
	w.removeApps()

	// Of two that come at once one is refused before anything is stored.
	w.Apply(t, w.releaseText("one", shared)+"\n---\n"+w.releaseText("two", shared))
	w.helmCondition("one", "Ready", isTrue)
	w.helmFails("two", "is that of HelmRelease "+w.ns+"/one")
	if got := w.storedReleases("shared"); got != "1:deployed" {
		t.Errorf("the stored releases are %s", got)
	}
	w.removeApps()
}

func isTrue(c map[string]any) bool { return c["status"] == "True" }
