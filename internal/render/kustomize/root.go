package kustomize

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/yamltext"
	"github.com/truce-gitops/truce/internal/render"
)

// root is the kustomization that is built: the user's or a generated one, with the edits of the request in it.
type root struct {
	fields map[string]any
	// keepOrigins is set when the user asked for origin annotations.
	keepOrigins bool
}

// newRoot reads a kustomization file. Its documents are decoded for their errors, which have a line; what it says is read as Kustomize reads it.
func newRoot(file string, data []byte, read fieldReader) (*root, error) {
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
	if _, ok := value.(map[string]any); !ok {
		return nil, &render.Error{File: file, Line: nodes[0].Line, Err: fmt.Errorf("not a kustomization: no map")}
	}
	text, err := yamltext.ManifestText(data)
	if err != nil {
		return nil, &render.Error{File: file, Err: err}
	}
	fields, err := read(text)
	if err != nil {
		return nil, &render.Error{File: file, Err: err}
	}
	return &root{fields: fields}, nil
}

// fieldReader reads the fields of a kustomization, under the names that the documentation has.
type fieldReader func(text []byte) (map[string]any, error)

// strictFields reads a kustomization as Kustomize does: by YAML 1.1, where yes is a boolean and a date a text. What Kustomize does not decode is
// returned as it is: Kustomize says what is wrong with it.
func strictFields(text []byte) (map[string]any, error) {
	var k types.Kustomization
	if err := k.Unmarshal(text); err == nil {
		return fieldsOf(k)
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, invalidError(err)
	}
	var fields map[string]any
	return fields, kjson.Unmarshal(data, &fields)
}

// fluxFields reads a kustomization as kustomize-controller does that which it builds, and no base of it: numbers and booleans become texts where a
// text is wanted (fluxcd/pkg/kustomize, Generator.GenerateManifest). Unlike there an unknown field is an error, and not left out.
func fluxFields(text []byte) (map[string]any, error) {
	var k types.Kustomization
	err := yaml.Unmarshal(text, &k, func(d *json.Decoder) *json.Decoder {
		d.DisallowUnknownFields()
		return d
	})
	if err != nil {
		return nil, invalidError(err)
	}
	return fieldsOf(k)
}

// invalidError is an error of the YAML library as Kustomize reports it, without what it quotes.
func invalidError(err error) error {
	msg := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: ")
	return fmt.Errorf("invalid Kustomization: %s", redact.WithoutQuoted(msg))
}

func fieldsOf(k types.Kustomization) (map[string]any, error) {
	data, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, kjson.Unmarshal(data, &fields)
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
