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

	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
)

// tree is files in memory. No cache looks at what they hold.
type tree struct{ fstest.MapFS }

// Sum implements source.Tree.
func (tree) Sum(name string) (string, error) {
	return "", fmt.Errorf("sum %s: %w", name, errors.ErrUnsupported)
}

// postRender has the app's kustomizations change the manifests, and hooks as the request says.
func (b *build) postRender(ctx context.Context, files map[string]string) (map[string]string, error) {
	how := b.request.Chart.PostRenderHooks
	if len(b.request.Chart.PostRenderers) == 0 || how == hook.RenderedAmongOthers {
		return b.postRenderFiles(ctx, files)
	}
	hooks, out, err := splitHooks(files)
	if err == nil && len(out) > 0 {
		out, err = b.postRenderFiles(ctx, out)
	}
	if err == nil && len(hooks) > 0 && how == hook.RenderedApart {
		hooks, err = b.postRenderFiles(ctx, hooks)
	}
	for name, text := range hooks {
		appendDocument(out, name, text)
	}
	return out, err
}

// splitHooks takes the documents that are hooks out of files.
func splitHooks(files map[string]string) (hooks, others map[string]string, err error) {
	hooks, others = map[string]string{}, map[string]string{}
	names, documents := splitDocuments(files)
	for _, file := range slices.Sorted(maps.Keys(documents)) {
		var head releaseutil.SimpleHead
		if err := yaml.Unmarshal(documents[file].Data, &head); err != nil {
			return nil, nil, fmt.Errorf("YAML parse error on %s: %w", names[file], err) // in the words of Helm
		}
		to := others
		if head.Metadata != nil && head.Metadata.Annotations[releasev1.HookAnnotation] != "" {
			to = hooks
		}
		appendDocument(to, names[file], string(documents[file].Data))
	}
	return hooks, others, nil
}

func appendDocument(files map[string]string, name, text string) {
	if files[name] != "" {
		files[name] = strings.TrimSuffix(files[name], "\n") + "\n---\n"
	}
	files[name] += text
}

// postRenderFiles has the app's kustomizations change the documents of files. Each keeps the template that it is from.
func (b *build) postRenderFiles(ctx context.Context, files map[string]string) (map[string]string, error) {
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
		appendDocument(files, name, string(text))
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
