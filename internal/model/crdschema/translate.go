package crdschema

import (
	"slices"
	"strings"
)

const (
	preserve    = "x-kubernetes-preserve-unknown-fields"
	intOrString = "x-kubernetes-int-or-string"
	embedded    = "x-kubernetes-embedded-resource"
)

// translated turns a structural schema of a CRD (OpenAPI 3.0) into JSON Schema, draft 7.
func translated(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return translateNode(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = translated(e)
		}
		return out
	}
	return v
}

func translateNode(n map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range n {
		switch {
		case strings.HasPrefix(key, "x-kubernetes-"), key == "nullable", key == "example", key == "externalDocs":
		case key == "properties", key == "patternProperties", key == "definitions":
			out[key] = translateFields(v)
		case key == "default", key == "enum": // values, not schemas
			out[key] = v
		default:
			out[key] = translated(v)
		}
	}
	translateBounds(out)
	if n[intOrString] == true {
		delete(out, "format")
		delete(out, "anyOf")
		out["type"] = []any{"integer", "string"}
	}
	if n["nullable"] == true {
		nullable(out)
	}
	if _, closed := n["properties"]; closed && n[preserve] != true && n[embedded] != true && n["additionalProperties"] == nil {
		out["additionalProperties"] = false
	}
	return out
}

// translateFields translates the schemas of a map whose keys are names of fields.
func translateFields(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for name, n := range m {
		out[name] = translated(n)
	}
	return out
}

// translateBounds says exclusive bounds as draft 7 does: by a number, where OpenAPI 3.0 has a truth beside the bound.
func translateBounds(out map[string]any) {
	for _, pair := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, given := out[pair[0]].(bool)
		if !given {
			continue
		}
		delete(out, pair[0])
		if bound, ok := out[pair[1]]; exclusive && ok {
			delete(out, pair[1])
			out[pair[0]] = bound
		}
	}
}

func nullable(out map[string]any) {
	switch t := out["type"].(type) {
	case string:
		out["type"] = []any{t, "null"}
	case []any:
		out["type"] = append(slices.Clone(t), "null")
	}
	if values, ok := out["enum"].([]any); ok && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
	}
}
