package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/render"
)

// tree is files in memory. No cache looks at what they hold.
type tree struct{ fstest.MapFS }

// Sum implements source.Tree.
func (tree) Sum(name string) (string, error) {
	return "", fmt.Errorf("sum %s: %w", name, errors.ErrUnsupported)
}

// postRender has the app's kustomizations change the manifests, hooks as well. Each document keeps the template that it is from.
func (b *build) postRender(ctx context.Context, files map[string]string) (map[string]string, error) {
	for i, p := range b.request.Chart.PostRenderers {
		names, documents := splitDocuments(files)
		text, err := json.Marshal(map[string]any{"resources": slices.Sorted(maps.Keys(documents)), "patches": p.Patches, "images": p.Images})
		if err != nil {
			return nil, err
		}
		documents["kustomization.yaml"] = &fstest.MapFile{Data: text}
		res, err := b.renderer.Builder.Render(ctx, render.Request{Files: tree{documents}, Path: ".", Limits: b.request.Limits})
		if err != nil {
			return nil, fmt.Errorf("spec.postRenderers[%d].kustomize: %s", i, strings.TrimPrefix(err.Error(), "render .: "))
		}
		if files, err = joinDocuments(res.Objects, names); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// joinDocuments is the reverse of splitDocuments, for what the kustomization made of them.
func joinDocuments(rendered []render.Object, names map[string]string) (map[string]string, error) {
	files := map[string]string{}
	for _, o := range rendered {
		text, err := yaml.Marshal(o.Data)
		if err != nil {
			return nil, err
		}
		name := names[o.File]
		if name == "" {
			name = "generated-by-postrender-" + path.Base(o.File)
		}
		if files[name] != "" {
			files[name] += "---\n"
		}
		files[name] += string(text)
	}
	return files, nil
}

// splitDocuments gives each document a file of its own, and the name of the template that it is from.
func splitDocuments(files map[string]string) (names map[string]string, documents fstest.MapFS) {
	names, documents = map[string]string{}, fstest.MapFS{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		for _, doc := range splitManifests(files[name]) {
			file := fmt.Sprintf("%06d.yaml", len(documents))
			names[file], documents[file] = name, &fstest.MapFile{Data: []byte(doc)}
		}
	}
	return names, documents
}
