package kustomize

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/render"
)

// root is the kustomization that is built: the user's or a generated one, with the edits of the request in it.
type root struct {
	fields map[string]any
	// keepOrigins is set when the user asked for origin annotations.
	keepOrigins bool
}

// newRoot reads a kustomization file.
func newRoot(file string, data []byte) (*root, error) {
	nodes, err := render.ParseNodes(file, data)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 {
		return nil, &render.Error{File: file, Err: fmt.Errorf("%d documents, want one", len(nodes))}
	}
	value, err := render.DecodeValue(file, nodes[0])
	if err != nil {
		return nil, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, &render.Error{File: file, Line: nodes[0].Line, Err: fmt.Errorf("not a kustomization: no map")}
	}
	return &root{fields: fields}, nil
}

// generated is the kustomization that Flux would write for the directory.
func generated(dir string, resources []string) *root {
	list := make([]any, 0, len(resources))
	for _, r := range resources {
		list = append(list, relativeTo(dir, r))
	}
	return &root{fields: map[string]any{
		"apiVersion": types.KustomizationVersion,
		"kind":       types.KustomizationKind,
		"resources":  list,
	}}
}

// walkOrder is the order in which a walk meets the names: by their parts.
func walkOrder(manifests, roots []string) []string {
	all := slices.Concat(manifests, roots)
	slices.SortFunc(all, func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	return all
}

func relativeTo(dir, name string) string {
	if dir == "." {
		return "./" + name
	}
	return "./" + strings.TrimPrefix(name, dir+"/")
}

// track has Kustomize note the origin of every object.
func (k *root) track() {
	list, _ := k.fields["buildMetadata"].([]any)
	k.keepOrigins = slices.Contains(list, any(types.OriginAnnotations))
	if !k.keepOrigins {
		k.fields["buildMetadata"] = append(slices.Clone(list), types.OriginAnnotations)
	}
}

func (k *root) bytes() ([]byte, error) { return yaml.Marshal(k.fields) }
