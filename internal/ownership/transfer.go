package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/truce-gitops/truce/internal/field"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Transfer returns managedFields as they are when the paths belong to our apply entry, and no longer to people or to our
// own handover. Entries of controllers and of subresources stay as they are. Sets are united by us: the server would
// keep only one of two entries with one name (measured).
func Transfer(managedFields []any, paths []field.Path, apiVersion string) ([]any, error) {
	moved := fieldpath.NewSet(paths...)
	var out []any
	taken := false
	for _, e := range managedFields {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields holds a %T, want a map", e)
		}
		next, err := transferEntry(m, moved)
		if err != nil {
			return nil, err
		}
		taken = taken || isOurs(m)
		if next != nil {
			out = append(out, next)
		}
	}
	if taken {
		return out, nil
	}
	fields, err := encodeSet(moved)
	if err != nil {
		return nil, err
	}
	return append(out, map[string]any{
		"manager": Manager, "operation": "Apply", "apiVersion": apiVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
	}), nil
}

func isOurs(m map[string]any) bool { return is(m, Manager, "Apply") }

func is(m map[string]any, manager, operation string) bool {
	return m["manager"] == manager && m["operation"] == operation && m["subresource"] == nil
}

// transferEntry returns the entry with the paths added or taken away; nil when nothing is left of it.
func transferEntry(m map[string]any, moved *fieldpath.Set) (map[string]any, error) {
	name, _ := m["manager"].(string)
	gives := is(m, Handover, "Apply") || IsPerson(name) && m["subresource"] == nil
	if !isOurs(m) && !gives {
		return m, nil
	}
	set, err := decodeSet(m["fieldsV1"])
	if err != nil {
		return nil, fmt.Errorf("fields of manager %q: %w", name, err)
	}
	if gives {
		set = set.Difference(moved)
		if set.Empty() {
			return nil, nil
		}
	} else {
		set = set.Union(moved)
	}
	fields, err := encodeSet(set)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	out["fieldsV1"] = fields
	return out, nil
}

func decodeSet(v any) (*fieldpath.Set, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := fieldpath.NewSet()
	return s, s.FromJSON(bytes.NewReader(text))
}

func encodeSet(s *fieldpath.Set) (map[string]any, error) {
	text, err := s.ToJSON()
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(text, &m)
}
