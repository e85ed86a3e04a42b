package object_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

var texts = []string{
	`{"a":1,"b":[true,false,null,"x",-3.5e300,[],{}],"":{"k:{\"name\":\"web\"}":{}},"z":"line\nline\ttab\\ \" \r \b \f \u0001"}`,
	`{"html":"<a href='x'>&amp;</a>","other":"ü   😀 ","big":9007199254740993}`, `{}`,
	`{"q":1,"w":1,"e":1,"r":1,"t":1,"y":1,"u":1,"i":1,"o":1,"p":1,"a":1,"s":1,"d":1,"f":1,"g":1,"h":1,"j":1,"k":1,"l":1}`,
}

// FuzzAnObjectIsWrittenAsByEncodingJSON compares the texts byte by byte: digests are of them.
func FuzzAnObjectIsWrittenAsByEncodingJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte("{\"bad\":\"\xff\x7f\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o object.Object
		if json.Unmarshal(text, &o) != nil {
			return // no object
		}
		wholeNumbers(o)
		want, err := json.Marshal(o)
		got, gotErr := o.JSON()
		if err != nil || gotErr != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v\nwant %s, %v", got, gotErr, want, err)
		}
	})
}

// wholeNumbers turns numbers into those that the decoders of Kubernetes give.
func wholeNumbers(o map[string]any) {
	for key, v := range o {
		switch v := v.(type) {
		case float64:
			if v == math.Trunc(v) && math.Abs(v) < 1e15 {
				o[key] = int64(v)
			}
		case map[string]any:
			wholeNumbers(v)
		}
	}
}

func TestOtherTypesAreWrittenAsByEncodingJSON(t *testing.T) {
	for _, o := range []object.Object{
		nil, {"a": map[string]any(nil), "b": []any(nil), "c": []string{"x"}, "d": json.Number("1.0"), "e": 3, "f": object.Object{"g": int32(1)}, "raw": "\xff"},
	} {
		want, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.JSON(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	for _, o := range []object.Object{{"a": math.NaN()}, {"l": []any{math.Inf(1)}}, {"m": map[string]any{"x": func() {}}}} {
		if got, err := o.JSON(); err == nil {
			t.Errorf("%v is written as %s", o, got)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	container := map[string]any{"name": "web", "image": "web:1", "ports": []any{map[string]any{"containerPort": int64(80), "protocol": "TCP"}}}
	owned := map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}, `k:{"name":"web"}`: map[string]any{".": map[string]any{}, "f:image": map[string]any{}}}}
	o := object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "managedFields": []any{map[string]any{"manager": "truce", "operation": "Apply", "fieldsV1": owned}}},
		"spec":     map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
	}
	b.Run("object", func(b *testing.B) {
		for b.Loop() {
			if _, err := o.JSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(o); err != nil {
				b.Fatal(err)
			}
		}
	})
}
