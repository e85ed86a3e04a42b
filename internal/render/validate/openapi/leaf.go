package openapi

import (
	"errors"
	"strings"

	"github.com/truce-gitops/truce/internal/render/validate"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	library "k8s.io/kube-openapi/pkg/validation/validate"
)

// leaf checks a value by everything that its own schema says of it, without what lies below. The validator is the one that
// the API server has for custom resources.
func (w *walk) leaf(s *spec.Schema, v any, path string) {
	if len(s.Type) == 1 && s.Type[0] == "string" && !isScalar(v) { // the validator takes a list for bytes
		w.say(path, "must be of type string")
		return
	}
	own := *s
	own.Properties, own.AdditionalProperties, own.PatternProperties = nil, nil, nil
	own.Items, own.AdditionalItems, own.Required = nil, nil, nil
	own.AllOf, own.AnyOf, own.OneOf = withoutReferences(s.AllOf), withoutReferences(s.AnyOf), withoutReferences(s.OneOf)
	if s.Not != nil && len(withoutReferences([]spec.Schema{*s.Not})) == 0 {
		own.Not = nil
	}
	if hasExtension(s, intOrString) || s.Format == "int-or-string" {
		own.Type, own.Format, own.AnyOf, own.OneOf = nil, "", nil, nil
	}
	result := library.NewSchemaValidator(&own, nil, "", strfmt.Default).Validate(v)
	for _, err := range result.Errors {
		w.problems = append(w.problems, problem(path, err))
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// withoutReferences returns the schemas, or none of them if one refers to another: the validator takes no references. Only built-in
// kinds have such, in allOf, and resolve has followed it.
func withoutReferences(list []spec.Schema) []spec.Schema {
	for i := range list {
		s := &list[i]
		if s.Ref.String() != "" {
			return nil
		}
		for _, below := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			if len(below) > 0 && withoutReferences(below) == nil {
				return nil
			}
		}
	}
	return list
}

// problem says what the validator says, without the value: it may be a secret's. The validator names the field below path
// that a oneOf or anyOf is about.
func problem(path string, err error) validate.Problem {
	text := err.Error()
	if below, rest, ok := strings.Cut(text, " in body "); ok {
		text = rest
		if below != "" {
			path += "." + strings.TrimPrefix(below, ".")
		}
	}
	var v *openapierrors.Validation
	if !errors.As(err, &v) || v.Code() == openapierrors.InvalidTypeCode {
		text, _, _ = strings.Cut(text, ", because:")
		text, _, _ = strings.Cut(text, ": ")
	}
	text = strings.TrimSpace(strings.TrimLeft(text, `"`)) // "" is the name where it stands first
	return validate.Problem{Path: strings.TrimPrefix(path, "."), Message: text}
}
