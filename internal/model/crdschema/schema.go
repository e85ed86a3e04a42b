// Package crdschema answers: how does an editor check a custom resource while it is written?
//
// In: CustomResourceDefinitions as YAML.
// Out: a JSON Schema (draft 7) for each kind and version that they serve, and one for all of them.
// Promise: pure; what the API server would refuse for its form an editor marks, and an unknown field as well, which the server drops
// without a word; what a CRD leaves open stays open.
// Not here: CEL rules of a CRD, which no editor knows (the API server), checking manifests (validate).
package crdschema

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
)

const draft = "http://json-schema.org/draft-07/schema#"

// Schema is a JSON Schema of one kind at one version.
type Schema struct {
	GVK   object.GVK
	Names []string // in lower case, by which people call the kind: kustomization, kustomizations, ks
	JSON  map[string]any
}

// File is the schema's name by the convention of kubeconform and of Flux's own schemas: kustomization-kustomize-v1.json.
func (s Schema) File() string {
	group, _, _ := strings.Cut(s.GVK.Group, ".")
	return strings.ToLower(s.GVK.Kind) + "-" + group + "-" + s.GVK.Version + ".json"
}

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Kind string `json:"kind"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				OpenAPI map[string]any `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// ReadSchemas reads all *.yaml files of a tree and returns the schemas of the CustomResourceDefinitions in them, by kind and version.
func ReadSchemas(files fs.FS) ([]Schema, error) {
	var out []Schema
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for _, doc := range bytes.Split(text, []byte("\n---\n")) {
			var crd definition
			if err := yaml.Unmarshal(doc, &crd); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			out = append(out, crd.schemas()...)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Schema) int {
		return cmp.Or(cmp.Compare(a.GVK.Group, b.GVK.Group), cmp.Compare(a.GVK.Kind, b.GVK.Kind), cmp.Compare(a.GVK.Version, b.GVK.Version))
	})
	return out, err
}

func (d definition) schemas() []Schema {
	if d.Kind != "CustomResourceDefinition" {
		return nil
	}
	var out []Schema
	names := d.Spec.Names
	for _, v := range d.Spec.Versions {
		if !v.Served || v.Schema.OpenAPI == nil {
			continue
		}
		s := Schema{GVK: object.GVK{Group: d.Spec.Group, Version: v.Name, Kind: names.Kind}}
		for _, name := range append([]string{names.Kind, names.Plural, names.Singular}, names.ShortNames...) {
			if name = strings.ToLower(name); name != "" && !slices.Contains(s.Names, name) {
				s.Names = append(s.Names, name)
			}
		}
		s.JSON = s.whole(v.Schema.OpenAPI)
		out = append(out, s)
	}
	return out
}

// whole is the schema of an object, which must name its type and itself. (metadata's own fields are the API server's, not the CRD's.)
func (s Schema) whole(openAPI map[string]any) map[string]any {
	out := translated(openAPI).(map[string]any)
	out["$schema"], out["title"] = draft, s.GVK.String()
	properties, _ := out["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		out["properties"] = properties
	}
	properties["apiVersion"] = map[string]any{"type": "string", "enum": []any{s.GVK.APIVersion()}}
	properties["kind"] = map[string]any{"type": "string", "enum": []any{s.GVK.Kind}}
	properties["metadata"] = map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}, "namespace": map[string]any{"type": "string"}},
	}
	required := []any{"apiVersion", "kind", "metadata"}
	given, _ := out["required"].([]any)
	for _, name := range given {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	out["required"] = required
	return out
}

// AnyOfSchemas is one schema that takes any of the kinds.
func AnyOfSchemas(all []Schema) map[string]any {
	definitions, oneOf := map[string]any{}, []any{}
	for _, s := range all {
		name := strings.TrimSuffix(s.File(), ".json")
		part := maps.Clone(s.JSON)
		delete(part, "$schema")
		definitions[name] = part
		oneOf = append(oneOf, map[string]any{"$ref": "#/definitions/" + name})
	}
	return map[string]any{"$schema": draft, "title": "Custom resources that truce reads", "oneOf": oneOf, "definitions": definitions}
}
