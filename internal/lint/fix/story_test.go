package fix_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestMendingTellsItsStories mends the repository of each story in testdata: each section is a file of it; "known" holds its addresses.
func TestMendingTellsItsStories(t *testing.T) {
	edits, oneLine, files := 0, 0, 0
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		known := strings.Fields(in["known"])
		delete(in, "known")
		_, p := mended(t, in, known)
		for _, c := range p.Changes {
			gone, come := counted(c)
			files++
			edits += gone
			if gone <= 1 && come <= 1 {
				oneLine++
			}
		}
		return text(p)
	})
	t.Logf("%d files were edited, %d of them (%d %%) by one line; %d lines went in all", files, oneLine, 100*oneLine/max(1, files), edits)
}

// cured are the rules that the stories are about.
var cured = []string{
	"aggregated-role-rules", "ca-bundle-placeholder", "hpa-git-outside", "ignore-managers-reset", "ignore-not-respected", "null-value", "replicas-autoscaled", "replicas-put-back",
	"uncanonical-quantity",
}

type rediscoverer struct{ options discover.Options }

func (r rediscoverer) Rediscover(ctx context.Context, files source.Tree) (discover.Discovery, error) {
	return discover.FindApps(ctx, files, r.options)
}

func mended(t *testing.T, files map[string]string, known []string) (discover.Discovery, fix.Plan) {
	t.Helper()
	tree := onDisk(t, files)
	cached := &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}, Bytes: 64 << 20}
	again := rediscoverer{discover.Options{Kinds: kinds(), Workers: 2, Addresses: known, Render: cached}}
	s, err := again.Rediscover(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	found := rules.CheckAll(s)
	wanted := slices.DeleteFunc(slices.Clone(found), func(f rules.Finding) bool { return !slices.Contains(cured, f.Rule) })
	p, err := fix.MakePlan(t.Context(), fix.Repository{Discovery: s, Files: tree, Render: cached, Again: again}, found, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func kinds() []discover.Kind {
	return []discover.Kind{
		{Dialect: discover.Flux, Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Apps: flux.Kustomizations{}},
		{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "Application", Apps: argocd.Applications{}},
	}
}

func onDisk(t *testing.T, files map[string]string) source.Tree {
	t.Helper()
	dir := t.TempDir()
	golden.Files(files).Write(t, dir)
	tree, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree.Snapshot()
}

func counted(c fix.Change) (gone, come int) {
	for line := range strings.Lines(udiff.Unified("a", "b", string(c.Before), string(c.After))) {
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		case line[0] == '-':
			gone++
		case line[0] == '+':
			come++
		}
	}
	return gone, come
}

// text is a plan as the stories write it.
func text(p fix.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		to := c.File
		if c.After == nil {
			to = "/dev/null"
		}
		b.WriteString(udiff.Unified(c.File, to, string(c.Before), string(c.After)))
	}
	for _, c := range p.Fixes {
		fmt.Fprintf(&b, "cure: %s (%d)\n", c.What, len(c.Resolves))
		if c.First != "" {
			b.WriteString("first: " + c.First + "\n")
		}
		for _, proof := range c.Proven {
			fmt.Fprintf(&b, "proven: %s %v\n", proof.Unit, proof.Objects)
		}
	}
	for _, r := range p.Proposals {
		fmt.Fprintf(&b, "proposal: %s at %s: %s\n  %s\n", r.Finding.Rule, r.Finding.Place, r.Why, r.Remedy)
	}
	return b.String()
}
