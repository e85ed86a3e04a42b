package dialect_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestTheParentOfACustomResourceIsKnownByItsMarks(t *testing.T) {
	there := map[app.Key]bool{
		{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"}: true,
		{Kind: "Application", Namespace: "argocd", Name: "apps"}:        true,
	}
	type m = map[string]any
	by := func(manager string) m { return m{"managedFields": []any{m{"manager": manager, "operation": "Apply"}}} }
	for name, c := range map[string]struct {
		meta m
		want string
	}{
		"nobody":                       {m{}, ""},
		"a person":                     {by("kubectl-edit"), ""},
		"truce's mark":                 {m{"labels": m{"truce.dev/part-of": "flux-system.apps"}}, "Kustomization flux-system/apps"},
		"truce's mark of another kind": {m{"labels": m{"truce.dev/part-of": "flux-system.apps_Application"}}, "Application flux-system/apps"},
		"truce's mark of an unknown":   {m{"labels": m{"truce.dev/part-of": "x.y.z"}}, "app x/y.z"},
		"Flux's labels":                {m{"labels": m{"kustomize.toolkit.fluxcd.io/name": "a", "kustomize.toolkit.fluxcd.io/namespace": "b"}}, "Kustomization b/a"},
		"Flux's Helm labels":           {m{"labels": m{"helm.toolkit.fluxcd.io/name": "a", "helm.toolkit.fluxcd.io/namespace": "b"}}, "HelmRelease b/a"},
		"Argo CD's tracking":           {m{"annotations": m{"argocd.argoproj.io/tracking-id": "apps:argoproj.io/Application:argocd/web"}}, "Application apps"},
		"tracking in any namespace":    {m{"annotations": m{"argocd.argoproj.io/tracking-id": "team_apps:argoproj.io/Application:argocd/web"}}, "Application team/apps"},
		"Argo CD's label":              {m{"namespace": "argocd", "labels": m{"app.kubernetes.io/instance": "apps"}}, "Application argocd/apps"},
		"the label of something else":  {m{"namespace": "argocd", "labels": m{"app.kubernetes.io/instance": "web-v2"}}, ""},
		"an ApplicationSet":            {m{"namespace": "argocd", "ownerReferences": []any{m{"kind": "ApplicationSet", "name": "all", "controller": true}}}, "ApplicationSet argocd/all"},
		"a manager without any mark":   {by("kustomize-controller"), "kustomize-controller"},
		"a controller's status writes": {m{"managedFields": []any{m{"manager": "kustomize-controller", "subresource": "status"}}}, ""},
		"its own controller's finalizer": {m{"managedFields": []any{m{"manager": "helm-controller", "operation": "Update", "fieldsV1": m{
			"f:metadata": m{"f:finalizers": m{".": m{}, `v:"finalizers.fluxcd.io"`: m{}}},
		}}}}, ""},
		"a finalizer and more": {m{"managedFields": []any{m{"manager": "helm-controller", "operation": "Apply", "fieldsV1": m{
			"f:metadata": m{"f:finalizers": m{}}, "f:spec": m{"f:interval": m{}},
		}}}}, "helm-controller"},
	} {
		t.Run(name, func(t *testing.T) {
			got := dialect.ParentOf(object.Object{"metadata": c.meta}, func(k app.Key) bool { return there[k] })
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
