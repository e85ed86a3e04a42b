package mutation

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/cel"
)

// leftOutBy reports whether matchConditions leave a whole object out, when it is created and when it is changed, by any user and from any
// state. A condition that cannot be read or evaluated leaves nothing out.
func (s Subject) leftOutBy(matchConditions any) bool {
	list, _ := matchConditions.([]any)
	if !s.Whole || len(list) == 0 {
		return false
	}
	return s.someIsFalse(list, s.request("CREATE")) && s.someIsFalse(list, s.request("UPDATE"))
}

// request is what is known of a request that writes the object as it is.
func (s Subject) request(operation string) map[string]any {
	return map[string]any{
		"operation": operation, "name": s.Object.Name(), "namespace": s.Object.Namespace(),
		"resource": map[string]any{"group": s.Group, "resource": s.Resource}, "kind": map[string]any{"group": s.Group, "kind": s.Object.GVK().Kind},
	}
}

func (s Subject) someIsFalse(conditions []any, request map[string]any) bool {
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		text, _ := condition["expression"].(string)
		e, err := cel.CompileAdmission(text)
		if err != nil {
			return false
		}
		is, err := e.IsFalseOf(s.Object, request)
		return err == nil && is
	})
}
