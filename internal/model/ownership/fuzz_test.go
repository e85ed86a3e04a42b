package ownership_test

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/spec/replicas", "/metadata/annotations/a.b~1c", "/a~0b", "/~2", "/", "", "/a//b", "spec", "/0/-/00"} {
		f.Add(s)
	}
	o := object.Object{"a": []any{"x", map[string]any{"name": "n"}}, "": map[string]any{"": "empty"}}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := field.ParsePointer(s)
		if err != nil {
			return
		}
		if path, ok := ownership.Resolve(p, o, nil); ok {
			if _, there := field.ValueAt(o, path); !there {
				t.Fatalf("%q resolves to %s, where nothing is", s, field.PathString(path))
			}
		}
	})
}

var shapes = []string{
	`{}`, ``, `{"f:spec":{"f:replicas":{}}}`, `{"f:a":{".":{},"k:{\"name\":\"web\"}":{".":{},"f:image":{}},"v:\"x\"":{},"i:3":{}}}`,
	`{"f:a":{}} x`, `{"f:a":1}`, `{"x":{}}`, `{"k:{":{}}`, `{"f:a":{},"f:a":{"f:b":{}}}`, `{"f:\u00e9<":{}}`, `{"v:{\"a\":[1,2.5,null]}":{}}`,
	`{"k:{\"port\":53,\"protocol\":\"UDP\"}":{}}`, ` { "f:b" : { } , "f:a" : { } } `,
}

func FuzzParseShape(f *testing.F) {
	for _, s := range shapes {
		f.Add(s)
	}
	h := ownership.NewHasher()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ownership.ParseShape([]byte(text))
		if err != nil {
			return
		}
		printed := s.JSON()
		again, err := ownership.ParseShape([]byte(printed))
		if err != nil || again.JSON() != printed || !again.Is(printed) || !again.Equal(s) || h.Fingerprint(s) != h.Fingerprint(again) {
			t.Fatalf("%q is printed as %q, and read as %q (%v)", text, printed, again.JSON(), err)
		}
		for _, p := range s.Paths() {
			if !s.Under(p) {
				t.Fatalf("%s is a path and not under", field.PathString(p))
			}
		}
		h.Changed(s, h.Values(s, object.Object{}), object.Object{}, func(p field.Path) { t.Fatalf("%s has changed", field.PathString(p)) })
	})
}

// FuzzNewShape holds the two readers of one format against each other.
func FuzzNewShape(f *testing.F) {
	for _, s := range shapes {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m map[string]any
		if utiljson.Unmarshal([]byte(text), &m) != nil {
			return
		}
		a, err := ownership.NewShape(m)
		if err != nil {
			return
		}
		b, err := ownership.ParseShape([]byte(a.JSON()))
		if err != nil || !a.Equal(b) {
			t.Fatalf("%q: %q, %q, %v", text, a.JSON(), b.JSON(), err)
		}
	})
}

func FuzzEntries(f *testing.F) {
	f.Add(`{"metadata":{"managedFields":[{"manager":"truce","operation":"Apply","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:spec":{"f:a":{}}}}]},"spec":{"a":1}}`)
	f.Add(`{"metadata":{"managedFields":[{}]}}`)
	f.Add(`{"metadata":{"managedFields":[1]}}`)
	f.Add(`{"metadata":{"managedFields":[{"manager":"kubectl","subresource":"scale","fieldsV1":{"f:spec":{".":{},"k:{\"a\":1}":{}}}}]},"spec":[{"a":1},{"a":1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var o map[string]any
		if utiljson.Unmarshal([]byte(text), &o) != nil {
			return
		}
		owners, err := ownership.Entries(o)
		if err != nil {
			return
		}
		entries, _ := object.Object(o).At("metadata", "managedFields").([]any)
		for _, owner := range owners {
			paths := owner.Fields.Paths()
			for _, p := range paths {
				ownership.WriterOf(owners, p)
				ownership.AtomicAncestor(owners, p)
				field.ValueAt(o, p)
			}
			if _, err := (ownership.Managed{Fields: entries, APIVersion: "v1"}).Transfer(paths); err != nil && owner.Manager != "" {
				t.Logf("transfer: %v", err) // a malformed entry is an error, never a crash
			}
		}
	})
}
