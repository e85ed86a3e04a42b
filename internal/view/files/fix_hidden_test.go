package files_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/fix"
)

// TestFixLooksIntoADirectoryThatIsNamed: as an audit does, whatever the name of the directory is.
func TestFixLooksIntoADirectoryThatIsNamed(t *testing.T) {
	const hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\nspec:\n" +
		"  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  minReplicas: 2\n  maxReplicas: 9\n" +
		"  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]\n"
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: 3\n" +
		"  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n" +
		"    spec: {containers: [{name: web, image: 'web:1', resources: {requests: {cpu: 100m}}}]}\n"
	dir := files(t, map[string]string{".deploy/web.yaml": web, ".deploy/hpa.yaml": hpa, ".other/web.yaml": web, ".other/hpa.yaml": hpa})
	gitIn(t, dir, "init", "-q")
	for path, want := range map[string][]string{".": nil, ".deploy": {".deploy/web.yaml"}} {
		err := lint.FixRepository(t.Context(), fix.Request{Path: filepath.Join(dir, path)}, func(e *lint.Edits) error {
			var got []string
			for _, c := range e.Plan.Changes {
				got = append(got, c.File)
			}
			if !slices.Equal(got, want) {
				t.Errorf("truce fix %s edits %q, want %q", path, got, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("truce fix %s: %v", path, err)
		}
	}
}
