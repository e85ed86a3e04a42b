package resource_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// TestASuspenderIsWhoWroteTheFieldThatSuspends: of an Application and an ArtifactGenerator that is an annotation, and no other field.
func TestASuspenderIsWhoWroteTheFieldThatSuspends(t *testing.T) {
	const managers = `
  managedFields:
  - {manager: kubectl-annotate, operation: Update, apiVersion: x/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:argocd.argoproj.io/skip-reconcile": {}, "f:source.extensions.fluxcd.io/reconcile": {}}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: x/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:suspend": {}, "f:syncPolicy": {"f:automated": {"f:enabled": {}}}}}}
`
	for kind, c := range map[string]struct{ annotations, spec, want string }{
		"Kustomization":     {"{}", "{suspend: true}", "kubectl-edit"},
		"Application":       {`{argocd.argoproj.io/skip-reconcile: "true"}`, "{syncPolicy: {automated: {enabled: true}}}", "kubectl-annotate"},
		"ArtifactGenerator": {"{source.extensions.fluxcd.io/reconcile: disabled}", "{}", "kubectl-annotate"},
	} {
		k, _ := resource.KindNamed(kind)
		cr := object.Object{}
		text := "apiVersion: " + k.Group + "/" + k.Version + "\nkind: " + kind + "\nmetadata:\n  name: web\n  namespace: shop\n  annotations: " + c.annotations + managers + "spec: " + c.spec
		if err := yaml.Unmarshal([]byte(text), &cr); err != nil {
			t.Fatal(err)
		}
		if r := resource.ReadResource(k, cr); !r.Suspended || r.SuspendedBy != c.want {
			t.Errorf("%s: suspended %v by %q, want by %s", kind, r.Suspended, r.SuspendedBy, c.want)
		}
	}
}
