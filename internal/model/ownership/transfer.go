package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Transfer returns managedFields as they are when the paths belong to our apply entry, and no longer to people, to our
// own handover or to those that they are taken from (known by manager and operation). Entries of other controllers and of
// subresources stay as they are. Sets are united by us: the server would keep only one of two entries with one name (measured).
func (m Managed) Transfer(paths []field.Path, from ...Entry) ([]any, error) {
	to := move{from}
	moved := fieldpath.NewSet(paths...)
	var out []any
	taken := false
	for _, e := range m.Fields {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields holds a %T, want a map", e)
		}
		next, err := to.entry(m, moved)
		if err != nil {
			return nil, err
		}
		taken = taken || isOwnApply(m)
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
		"manager": Manager, "operation": "Apply", "apiVersion": m.APIVersion, "fieldsType": "FieldsV1", "fieldsV1": fields,
	}), nil
}

func isOwnApply(m map[string]any) bool { return isEntryOf(m, Manager, "Apply") }

func isEntryOf(m map[string]any, manager, operation string) bool {
	return m["manager"] == manager && m["operation"] == operation && m["subresource"] == nil
}

// move says who gives fields up.
type move struct{ from []Entry }

// gives reports whether an entry's manager gives up what is moved.
func (to move) gives(m map[string]any) bool {
	name, _ := m["manager"].(string)
	named := func(o Entry) bool { return isEntryOf(m, o.Manager, o.Operation) }
	return isEntryOf(m, Handover, "Apply") || IsPerson(name) && m["subresource"] == nil || slices.ContainsFunc(to.from, named)
}

// entry returns the entry with the paths added or taken away; nil when nothing is left of it.
func (to move) entry(m map[string]any, moved *fieldpath.Set) (map[string]any, error) {
	gives := to.gives(m)
	if !isOwnApply(m) && !gives {
		return m, nil
	}
	set, err := decodeSet(m["fieldsV1"])
	if err != nil {
		return nil, fmt.Errorf("fields of manager %q: %w", m["manager"], err)
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
