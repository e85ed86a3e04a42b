package local_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/charttest"
)

// reader reads one file of what it is to render.
type reader struct{ name, text string }

func (r *reader) Render(_ context.Context, q render.Request) (render.Result, error) {
	text, err := fs.ReadFile(q.Files, r.name)
	r.text = string(text)
	return render.Result{}, err
}

// repositories have no credentials.
type repositories struct{}

func (repositories) SpecOf(_ context.Context, _ object.ID, d chartfile.Dependency) (source.Spec, error) {
	return source.Spec{Kind: source.HelmRepository, URL: d.Repository, Chart: source.Chart{Name: d.Name, Version: d.Version}}, nil
}

func TestChartsThatChartsDependOn(t *testing.T) {
	server := charttest.New(t)
	server.Push("cache", "1.0.0", map[string]string{"values.yaml": "a: fetched\n"})
	dir := t.TempDir()
	chart := "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n- {name: cache, version: 1.x, repository: \"" + server.URL() + "\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, asked := range []bool{false, true} {
		seen := &reader{name: "charts/cache/values.yaml"}
		bases, end, err := local.Bases{Fetch: asked, Servers: local.AnyServer, Charts: repositories{}}.Over(seen)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bases.Render(t.Context(), render.Request{Files: bases.Over(files), Path: ".", Chart: &release.Request{}})
		end()
		switch {
		case asked && (err != nil || seen.text != "a: fetched\n"):
			t.Errorf("asked to fetch: %q, %v", seen.text, err)
		case !asked && (err == nil || !strings.Contains(err.Error(), "--remote-bases") || len(server.Requests()) > 0):
			t.Errorf("not asked to fetch: %v, want what to do, and no request", err)
		}
	}
}
