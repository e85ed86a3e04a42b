package schema

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// defaults are what the API server of Kubernetes 1.37 fills in, a line for each type, field and value: a field has several where the value depends
// on others. {} is a record whose fields have defaults of their own.
//
//go:embed defaults.txt
var defaults string

// fill reads the defaults.
func (k *Kinds) fill() {
	for line := range strings.Lines(defaults) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		var value any
		if t, known := k.named[words[0]]; known && json.Unmarshal([]byte(words[2]), &value) == nil {
			t.filled[words[1]] = append(t.filled[words[1]], value)
		}
	}
}

// IsDefault reports whether the value is one that the server of Kubernetes' own kinds fills in where an object does not name the field of the
// record. Of a type without defaults nothing is known, and the answer is no.
func (t *Type) IsDefault(field string, value any) bool {
	return t != nil && slices.ContainsFunc(t.filled[field], func(v any) bool { return isFilled(t.fields[field], v, value) })
}

func isFilled(t *Type, filled, value any) bool {
	record, ok := value.(map[string]any)
	if m, isMap := filled.(map[string]any); !isMap || len(m) > 0 || !ok {
		return sameJSON(filled, value)
	}
	for name, v := range record {
		if !t.IsDefault(name, v) {
			return false
		}
	}
	return true
}

// sameJSON compares by what JSON has: numbers have several types.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	var v, w any
	return json.Unmarshal(x, &v) == nil && json.Unmarshal(y, &w) == nil && reflect.DeepEqual(v, w)
}
