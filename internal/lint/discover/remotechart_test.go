package discover_test

import (
	"context"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/helm"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chart"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/oci"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/golden"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// chartStores fetch charts of an index, and of a registry.
type chartStores struct {
	*chart.Store
	registry *oci.Store
}

func (c chartStores) Fetch(ctx context.Context, s source.Spec) (source.Artifact, error) {
	if s.Kind == source.OCI {
		return c.registry.Fetch(ctx, s)
	}
	return c.Store.Fetch(ctx, s)
}

// noRepositories fetch no repository of git.
type noRepositories struct{}

func (noRepositories) Fetch(context.Context, source.Spec) (source.Artifact, error) {
	return source.Artifact{}, context.Canceled
}

// TestChartsOfRepositoriesAreLookedInto has a HelmRepository, a HelmChart, an OCIRepository and Applications read charts of two servers, with values files
// of the charts and of the repository; and others whose charts are not fetched.
func TestChartsOfRepositoriesAreLookedInto(t *testing.T) {
	r, registry := charttest.New(t), ocitest.New(t)
	files := map[string]string{
		"templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-{{ .Values.by }}-{{ .Chart.Version }}\"}\n",
		"values.yaml":        "by: chart\n", "prod.yaml": "by: prod\n",
	}
	r.Push("web", "1.0.0", files)
	r.Push("web", "1.1.0", files)
	layer := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("web", "3.0.0", files)}
	digest := registry.PushLayers("charts/web", "3.0.0", nil, layer)
	registry.PushLayers("charts/web", "latest", nil, ocitest.Layer{MediaType: layer.MediaType, Data: charttest.Package("web", "4.0.0", files)})
	host := strings.TrimPrefix(r.Server.URL, "http://")
	golden.Run(t, "testdata/remote/*.txtar", func(t *testing.T, in golden.Files) string {
		for name := range in {
			in[name] = strings.NewReplacer("REPOSITORY", host, "REGISTRY", registry.Host, "DIGEST", digest).Replace(in[name])
		}
		out := text(lookedInto(t, in, upstream.Hosts{Listed: []string{"http://" + host, "http://" + registry.Host}}))
		return strings.NewReplacer(host, "REPOSITORY", registry.Host, "REGISTRY", digest, "DIGEST").Replace(out)
	})
	if r.Presented() {
		t.Error("credentials were sent")
	}
}

// lookedInto is what is found in files, where charts are fetched from hosts.
func lookedInto(t *testing.T, in golden.Files, hosts upstream.Hosts) discover.Discovery {
	t.Helper()
	dir := t.TempDir()
	in.Write(t, dir)
	tree, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	packs, err := pack.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bases := remote.NewBases(remote.Options{
		Render: &render.Cached{Renderer: helm.Renderer{Builder: &kustomize.Renderer{Plain: plain.Renderer{}}}}, Fetch: noRepositories{}, Hosts: hosts, Dir: t.TempDir(),
		Charts: chartStores{&chart.Store{Packs: packs, Servers: remote.ServersOf(hosts)}, &oci.Store{Packs: packs, Servers: remote.ServersOf(hosts)}},
	})
	o := discover.Options{Kinds: kinds(), Workers: 2, Addresses: []string{"https://git.example.org/shop.git"}, Charts: true, Render: bases}
	s, err := discover.FindApps(t.Context(), bases.Over(tree.Snapshot()), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
