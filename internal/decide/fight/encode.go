package fight

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Encode prints the memory for the journal, nil for one that remembers nothing. What belongs to this process alone is left out.
func (m Memory) Encode() ([]byte, error) {
	fields := maps.Clone(m.fields)
	maps.DeleteFunc(fields, func(_ string, s state) bool { return len(s.Corrections) == 0 && s.Value == nil && !s.Given })
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(fields)
}

// DecodeMemory reads what Encode printed.
func DecodeMemory(text []byte) (Memory, error) {
	var m Memory
	if len(text) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, &m.fields); err != nil {
		return Memory{}, fmt.Errorf("memory: %w", err)
	}
	for path, s := range m.fields {
		s.Value, s.Before = normalizeNumber(s.Value), normalizeNumber(s.Before)
		m.fields[path] = s
	}
	return m, nil
}

// normalizeNumber is v as decoded objects hold it: whole numbers as int64.
func normalizeNumber(v any) any {
	if n, ok := v.(float64); ok && n == float64(int64(n)) {
		return int64(n)
	}
	return v
}
