package rules_test

import (
	"context"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/helm"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// surveyedCharts is a repository with charts as truce audit looks at it, each chart with its origins.
func surveyedCharts(ctx context.Context, t *testing.T, files given.Tree) discover.Discovery {
	t.Helper()
	r := &render.Cached{Renderer: helm.Renderer{Builder: &kustomize.Renderer{Plain: plain.Renderer{}}}}
	s, err := discover.FindApps(ctx, files, discover.Options{
		Kinds: []discover.Kind{
			{Dialect: discover.Flux, Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Apps: flux.Kustomizations{}},
			{Dialect: discover.Flux, Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Apps: flux.HelmReleases{}},
			{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "Application", Apps: argocd.Applications{}},
		},
		Render: r,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Units {
		u := &s.Units[i]
		if u.Err != nil {
			t.Fatalf("%s: %v", u.Name(), u.Err)
		}
		request, err := u.Request(files)
		if err != nil || request.Chart == nil {
			continue
		}
		chart := *request.Chart
		chart.Trace, request.Chart = true, &chart
		result, err := r.Render(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		u.Origins = result.Release.Origins
	}
	return s
}
