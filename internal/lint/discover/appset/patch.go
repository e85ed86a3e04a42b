package appset

import (
	"errors"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"
)

// patch merges the filled templatePatch into an Application. Its project stays as the template has it. The lists of an Application have no
// merge keys: a list of the patch stands instead of the other.
func (m *maker) patch(filled map[string]any, text string, p parameters) error {
	text, err := m.fill.text(text, p)
	if err != nil {
		return err
	}
	patch := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &patch); err != nil {
		return errors.New(firstLine(err))
	}
	if directed(patch) {
		return errors.New("directives of strategic merge patches are not followed yet")
	}
	project, there := mapValue(filled["spec"])["project"]
	for _, part := range []string{"metadata", "spec"} {
		if by, ok := patch[part].(map[string]any); ok {
			filled[part] = mergePatch(mapValue(filled[part]), by)
		}
	}
	if spec := mapValue(filled["spec"]); there && spec != nil {
		spec["project"] = project
	} else {
		delete(spec, "project")
	}
	return nil
}

// directed reports whether a patch says more than values.
func directed(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			if strings.HasPrefix(k, "$") || directed(one) {
				return true
			}
		}
	case []any:
		for _, one := range v {
			if directed(one) {
				return true
			}
		}
	}
	return false
}

// mergePatch is a map with a patch in it: null takes a field away. Neither is changed.
func mergePatch(m, patch map[string]any) map[string]any {
	out := make(map[string]any, len(m)+len(patch))
	maps.Copy(out, m)
	for k, v := range patch {
		below, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case isMap:
			out[k] = mergePatch(mapValue(out[k]), below)
		default:
			out[k] = v
		}
	}
	return out
}
