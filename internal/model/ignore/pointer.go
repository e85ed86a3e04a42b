package ignore

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
)

// identity are the fields by which the server knows an object; one without them cannot be sent.
var identity = []field.Pointer{
	{"apiVersion"}, {"kind"}, {"metadata"}, {"metadata", "name"}, {"metadata", "namespace"},
}

// ParsePointer reads a JSON pointer (RFC 6901) that a rule may use. Refused are those that say which object it is, and wildcards:
// a pointer has none, and "*" would name a field of that name.
func ParsePointer(text string) (field.Pointer, error) {
	p, err := field.ParsePointer(text)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(identity, func(id field.Pointer) bool { return slices.Equal(id, p) }) {
		return nil, fmt.Errorf("%s says which object it is, and cannot be left out", text)
	}
	if slices.Contains(p, "*") {
		return nil, fmt.Errorf("JSON pointer %q: a pointer has no wildcards; a jq expression such as .spec.containers[].image has", text)
	}
	return p, nil
}
