package schema

import (
	"encoding/json"

	"github.com/truce-gitops/truce/internal/model/object"
)

// maxDepth bounds how deep a CRD's schema is read. What lies deeper is Any.
const maxDepth = 100

// Define adds the kinds of a CRD. Of a kind that two CRDs define otherwise nothing is known.
func (k *Kinds) Define(crd object.Object) {
	group, _ := crd.At("spec", "group").(string)
	kind, _ := crd.At("spec", "names", "kind").(string)
	versions, _ := crd.At("spec", "versions").([]any)
	keeps, _ := crd.At("spec", "preserveUnknownFields").(bool)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		described, _ := object.Object(version).At("schema", "openAPIV3Schema").(map[string]any)
		if described != nil && !keeps {
			k.define(object.GVK{Group: group, Version: name, Kind: kind}, described)
		}
	}
}

func (k *Kinds) define(gvk object.GVK, described map[string]any) {
	text, err := json.Marshal(described)
	if err != nil {
		return // what YAML has read is JSON
	}
	before, defined := k.defined[gvk]
	if _, known := k.kinds[gvk]; known && !defined || defined && before == string(text) {
		return
	}
	if defined {
		k.kinds[gvk] = nil
		return
	}
	k.defined[gvk] = string(text)
	k.kinds[gvk] = k.object(described)
}

// object is the type of a whole object: its CRD need not name what every object has.
func (k *Kinds) object(described map[string]any) *Type {
	top := k.of(described, 0)
	if top.Form() != Record {
		return nil
	}
	top.fields["apiVersion"], top.fields["kind"] = &Type{form: Scalar, scalar: String}, &Type{form: Scalar, scalar: String}
	top.fields["metadata"] = k.Metadata()
	return top
}

// of reads a structural schema (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
func (k *Kinds) of(s map[string]any, depth int) *Type {
	is := func(key string) bool { v, _ := s[key].(bool); return v }
	if depth > maxDepth || is("x-kubernetes-embedded-resource") {
		return nil
	}
	if is("x-kubernetes-int-or-string") {
		return &Type{form: Scalar}
	}
	switch s["type"] {
	case "array":
		return k.list(s, depth)
	case "object":
		return k.mapping(s, depth)
	case "string":
		return &Type{form: Scalar, scalar: String}
	case "integer", "number":
		return &Type{form: Scalar, scalar: Number}
	case "boolean":
		return &Type{form: Scalar, scalar: Boolean}
	}
	return nil
}

func (k *Kinds) list(s map[string]any, depth int) *Type {
	items, _ := s["items"].(map[string]any)
	t := &Type{form: List, item: k.of(items, depth+1)}
	switch s["x-kubernetes-list-type"] {
	case "set":
		t.form = Set
	case "map":
		t.form = Keyed
		keys, _ := s["x-kubernetes-list-map-keys"].([]any)
		for _, v := range keys {
			key, _ := v.(string)
			t.keys = append(t.keys, key)
		}
	}
	return t
}

func (k *Kinds) mapping(s map[string]any, depth int) *Type {
	fields, _ := s["properties"].(map[string]any)
	values, takes := s["additionalProperties"]
	keeps, _ := s["x-kubernetes-preserve-unknown-fields"].(bool)
	if len(fields) == 0 && (takes || keeps) {
		described, _ := values.(map[string]any)
		return &Type{form: Map, item: k.of(described, depth+1), atomic: s["x-kubernetes-map-type"] == "atomic"}
	}
	t := &Type{form: Record, fields: map[string]*Type{}, open: takes || keeps, atomic: s["x-kubernetes-map-type"] == "atomic"}
	for name, v := range fields {
		described, _ := v.(map[string]any)
		t.fields[name] = k.of(described, depth+1)
	}
	return t
}
