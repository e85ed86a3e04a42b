package discover_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/discover/appset"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/helm"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/substitute"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func kinds() []discover.Kind {
	return []discover.Kind{
		{Dialect: discover.Flux, Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Apps: flux.Kustomizations{}},
		{Dialect: discover.Flux, Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Apps: flux.HelmReleases{}},
		{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "Application", Apps: argocd.Applications{}},
		{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "ApplicationSet", Sets: appset.Sets{}},
	}
}

// TestAnAppIsFoundWhereverItIs runs the stories of testdata: each section is a file of a repository; "known" holds its addresses, and
// "only" a dialect.
func TestAnAppIsFoundWhereverItIs(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		o := discover.Options{Kinds: kinds(), Workers: 2, Addresses: strings.Fields(in["known"])}
		part := discover.Part{Dialect: discover.Dialect(strings.TrimSpace(in["only"]))}
		delete(in, "known")
		delete(in, "only")
		s := take(t, in, o)
		s.Part = part
		return text(s.Narrowed())
	})
}

func take(t *testing.T, files map[string]string, o discover.Options) discover.Discovery {
	t.Helper()
	dir := t.TempDir()
	golden.Files(files).Write(t, dir)
	tree, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return discovered(t, tree.Snapshot(), o)
}

func discovered(t *testing.T, files source.Tree, o discover.Options) discover.Discovery {
	t.Helper()
	o.Render = &render.Cached{Renderer: substitute.Renderer{Builder: helm.Renderer{Builder: &kustomize.Renderer{Plain: plain.Renderer{}}}}}
	s, err := discover.FindApps(t.Context(), files, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text is a survey as the stories write it.
func text(s discover.Discovery) string {
	var b strings.Builder
	for _, u := range s.Units {
		fmt.Fprintf(&b, "%s:%d %s %s at %s", u.File, u.Line, u.Dialect, u.Name(), u.App.Path)
		if len(u.By) > 0 {
			fmt.Fprintf(&b, " by %s", strings.Join(u.By, ", "))
		}
		b.WriteByte('\n')
		for _, o := range u.Objects {
			fmt.Fprintf(&b, "  %s %s:%d\n", o.ID, o.File, o.Line)
		}
		if u.Err != nil {
			fmt.Fprintf(&b, "  error: %s\n", u.Err)
		}
		if len(u.Reads) > 0 {
			fmt.Fprintf(&b, "  reads %s\n", strings.Join(u.Reads, " "))
		}
	}
	for _, k := range s.Skipped {
		word := "skipped"
		if k.Broken {
			word = "broken"
		}
		fmt.Fprintf(&b, "%s %s:%d %s: %s\n", word, k.File, k.Line, k.What, k.Why)
	}
	for _, a := range s.Assumed {
		fmt.Fprintf(&b, "assumed %s\n", a)
	}
	return b.String()
}
