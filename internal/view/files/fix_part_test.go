package files_test

import (
	"path/filepath"
	"testing"

	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/fix"
)

func argoApp(name, spec string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n" +
		"  source: {repoURL: 'https://git.example.org/shop.git', path: " + name + "}\n" +
		"  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n" + spec
}

const scaledWeb = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n" +
	"  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n" +
	"    spec: {containers: [{name: web, image: 'web:1', resources: {requests: {cpu: 100m}}}]}\n---\n" +
	"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n" +
	"  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  minReplicas: 2\n  maxReplicas: 9\n" +
	"  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]\n"

// TestFixOfAPartIsAboutThatPart: what does not render elsewhere is not said of it.
func TestFixOfAPartIsAboutThatPart(t *testing.T) {
	dir := files(t, map[string]string{
		"apps/web.yaml": argoApp("web", ""), "web/web.yaml": scaledWeb, "apps/torn.yaml": argoApp("torn", ""), "torn/kustomization.yaml": "resources: [absent.yaml]\n",
	})
	gitIn(t, dir, "init", "-q")
	t.Chdir(dir)
	for _, test := range []struct {
		named           string // a directory or an app
		changes, broken int
	}{{"web", 1, 0}, {"argocd/web", 1, 0}, {"torn", 0, 1}, {"argocd/torn", 0, 1}, {".", 1, 1}} {
		err := lint.FixRepository(t.Context(), fix.Request{Path: filepath.Join(dir, test.named), App: test.named}, func(e *lint.Edits) error {
			broken := 0
			for _, k := range e.Survey.Skipped {
				if k.Broken {
					broken++
				}
			}
			if len(e.Plan.Changes) != test.changes || broken != test.broken {
				t.Errorf("%+v: %d changes, %d broken: %v", test, len(e.Plan.Changes), broken, e.Survey.Skipped)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// TestFixRunsJq: a rule that only jq understands, and that a sync does not respect, gets what it lacks.
func TestFixRunsJq(t *testing.T) {
	const ignore = "  ignoreDifferences:\n  - {group: apps, kind: Deployment, jqPathExpressions: ['.spec | select(.replicas) | .replicas']}\n"
	dir := files(t, map[string]string{"web.yaml": argoApp("web", ignore), "web/web.yaml": scaledWeb})
	gitIn(t, dir, "init", "-q")
	err := lint.FixRepository(t.Context(), fix.Request{Path: dir, Rules: []string{"ignore-not-respected"}}, func(e *lint.Edits) error {
		if len(e.Plan.Fixes) != 1 || len(e.Plan.Changes) != 1 || e.Plan.Changes[0].File != "web.yaml" {
			t.Errorf("got %+v", e.Plan)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
