package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// TestARevisionTouchesTheAppsThatItChanges: the apps that a commit changes are run before the others. That is asked of the engine, since the
// order of what sixteen workers do is no promise.
func TestARevisionTouchesTheAppsThatItChanges(t *testing.T) {
	w := newWorld(t, policy.Policy{}, `
-- apps/a/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NAMESPACE}
data: {colour: red}
-- apps/b/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: NAMESPACE}
data: {colour: red}
`)
	names := []string{"a", "b"}
	for _, name := range names {
		w.app(name, "./apps/"+name, defaultSpec)
	}
	for _, name := range names {
		w.ready(name)
		w.patch(kustomizations, name, map[string]any{"spec": map[string]any{"suspend": true}}, "kubectl")
	}
	engine := w.running.Engine
	for _, name := range names {
		w.until(name+" suspended", func() bool {
			return engine.Report(appKeyOf("Kustomization", w.ns, name)).Reason == report.Suspended
		})
	}
	w.edit("apps/a/settings.yaml", "red", "blue")
	head := w.repo.Head()
	source := app.SourceKey{Kind: "GitRepository", Namespace: w.ns, Name: "repo"}
	w.until("the new revision", func() bool {
		artifact, err := engine.Sources.Artifact(source)
		return err == nil && strings.HasSuffix(artifact.Revision, head)
	})
	artifact, err := engine.Sources.Artifact(source)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false, "of whom nothing is known": true} {
		if got := engine.MayChange(appKeyOf("Kustomization", w.ns, name), artifact); got != want {
			t.Errorf("%s: touched is %v, want %v", name, got, want)
		}
	}
}
