package openapi

import (
	"encoding/json"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

func FuzzProblems(f *testing.F) {
	f.Add(`{"spec":{"a":[1,{"b":null}],"c":"x"}}`)
	const doc = `{"components":{"schemas":{"W":{"type":"object","x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"W"}],
		"properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/S"}],"default":{}}}},
		"S":{"type":"object","required":["q"],"properties":{"a":{"type":"array","items":{"$ref":"#/components/schemas/S"}},"c":{"type":"string","enum":["x"]},"q":{"type":"integer"}}}}}}`
	d, err := newDocument([]byte(doc))
	if err != nil {
		f.Fatal(err)
	}
	schema, err := d.schema(object.GVK{Version: "v1", Kind: "W"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o map[string]any
		if json.Unmarshal([]byte(text), &o) == nil {
			schema.Problems(o)
		}
	})
}
