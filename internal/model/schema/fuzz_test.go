package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
)

// FuzzDefine: whatever stands in a CRD, the kinds of Kubernetes' own stay as they are.
func FuzzDefine(f *testing.F) {
	seed, err := json.Marshal(crd("size"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"spec":{"group":"apps","names":{"kind":"Deployment"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}}]}}`))
	kinds := schema.Builtin()
	f.Fuzz(func(t *testing.T, text []byte) {
		var o object.Object
		if json.Unmarshal(text, &o) != nil {
			return
		}
		kinds.Define(o)
		d, ok := kinds.Of(object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"})
		if !ok {
			t.Fatal("no Deployment")
		}
		if spec, ok := d.Field("spec"); !ok || spec.Form() != schema.Record {
			t.Error("a Deployment has no spec")
		}
	})
}
