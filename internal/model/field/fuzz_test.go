package field_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
)

func FuzzParsePointer(f *testing.F) {
	for _, s := range []string{"/spec/replicas", "/metadata/annotations/a.b~1c", "/a~0b", "/~2", "/", "", "/a//b", "spec", "/0/-/00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := field.ParsePointer(s)
		if err != nil {
			return
		}
		if p.String() != s {
			t.Fatalf("%q is printed as %q", s, p.String())
		}
	})
}
