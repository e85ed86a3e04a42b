package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/validate"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kind is the schema of one kind.
type kind struct {
	doc  *document
	name string
}

var _ validate.Schema = kind{}

// Problems walks the object along its schema.
func (k kind) Problems(o object.Object) []validate.Problem {
	root, err := k.doc.component(k.name)
	w := walk{doc: k.doc}
	if err != nil {
		w.say("", err.Error())
		return w.problems
	}
	w.value(root, map[string]any(o), "")
	return w.problems
}

// walk goes along a schema and gathers what does not fit. The names of lists, maps and unknown fields are its own matter;
// what a single value may be is the library's (leaf).
type walk struct {
	doc      *document
	problems []validate.Problem
}

func (w *walk) say(path, message string) {
	w.problems = append(w.problems, validate.Problem{Path: strings.TrimPrefix(path, "."), Message: message})
}

const (
	preserve    = "x-kubernetes-preserve-unknown-fields"
	embedded    = "x-kubernetes-embedded-resource"
	intOrString = "x-kubernetes-int-or-string"
	quantity    = "io.k8s.apimachinery.pkg.api.resource.Quantity"
)

func (w *walk) value(s *spec.Schema, v any, path string) {
	s, name, err := w.resolve(s)
	switch {
	case err != nil:
		w.say(path, err.Error())
		return
	case v == nil: // nulls are dropped before they are sent, or mean the default
		return
	case name == quantity:
		w.quantity(v, path)
		return
	case hasExtension(s, intOrString) || s.Format == "int-or-string":
		w.intOrString(v, path)
	}
	w.leaf(s, v, path)
	switch v := v.(type) {
	case map[string]any:
		w.required(s, name, v, path)
		w.fields(s, v, path)
	case []any:
		w.items(s, v, path)
	}
}

// resolve follows references. A field with a default refers through allOf, since nothing may stand beside a reference.
func (w *walk) resolve(s *spec.Schema) (*spec.Schema, string, error) {
	name := ""
	for {
		ref := s.Ref.String()
		if ref == "" && len(s.AllOf) == 1 && len(s.Properties) == 0 {
			ref = s.AllOf[0].Ref.String()
		}
		if ref == "" {
			return s, name, nil
		}
		name = ref[strings.LastIndexByte(ref, '/')+1:]
		var err error
		if s, err = w.doc.component(name); err != nil {
			return nil, name, err
		}
	}
}

// roleRef is the one built-in type whose required field (apiGroup) the server fills in.
const roleRef = "io.k8s.api.rbac.v1.RoleRef"

// required checks what must be there. What has a default need not. Built-in types alone print the Go zero value "" as a default:
// that fills in nothing.
func (w *walk) required(s *spec.Schema, component string, m map[string]any, path string) {
	builtIn := strings.HasPrefix(component, "io.k8s.") && component != roleRef
	for _, name := range s.Required {
		fills := s.Properties[name].Default
		if fills == "" && builtIn {
			fills = nil
		}
		if m[name] == nil && fills == nil {
			w.say(path+"."+name, "is required")
		}
	}
}

func (w *walk) fields(s *spec.Schema, m map[string]any, path string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if next, ok := s.Properties[name]; ok {
			w.value(&next, m[name], path+"."+name)
			continue
		}
		w.other(s, m, name, path)
	}
}

// other checks a field that the schema does not name.
func (w *walk) other(s *spec.Schema, m map[string]any, name, path string) {
	more := s.AdditionalProperties
	switch {
	case more != nil && more.Schema != nil:
		w.value(more.Schema, m[name], path+"."+name)
	case more != nil && more.Allows, hasExtension(s, preserve), len(s.Properties) == 0 && more == nil: // free in form
	case hasExtension(s, embedded) && (name == "apiVersion" || name == "kind" || name == "metadata"):
	default:
		w.say(path+"."+name, "is no field of this kind"+instead(s, name))
	}
}

// instead names the field that was meant, if only the case differs.
func instead(s *spec.Schema, name string) string {
	for known := range s.Properties {
		if strings.EqualFold(known, name) {
			return "; there is " + known
		}
	}
	return ""
}

func (w *walk) items(s *spec.Schema, list []any, path string) {
	if s.Items == nil || s.Items.Schema == nil {
		return
	}
	for i, v := range list {
		w.value(s.Items.Schema, v, path+"["+strconv.Itoa(i)+"]")
	}
}

func (w *walk) intOrString(v any, path string) {
	switch v.(type) {
	case int64, string:
	default:
		w.say(path, "must be a whole number or a string")
	}
}

func (w *walk) quantity(v any, path string) {
	switch v := v.(type) {
	case int64, float64:
	case string:
		if _, err := resource.ParseQuantity(v); err != nil {
			w.say(path, "must be a quantity, such as 500m or 2Gi")
		}
	default:
		w.say(path, fmt.Sprintf("must be a quantity, not a %s", typeName(v)))
	}
}

func typeName(v any) string {
	switch v.(type) {
	case map[string]any:
		return "map"
	case []any:
		return "list"
	case bool:
		return "boolean"
	}
	return "value of another type"
}

func hasExtension(s *spec.Schema, extension string) bool {
	on, _ := s.Extensions.GetBool(extension)
	return on
}
