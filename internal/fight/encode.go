package fight

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Encode prints the memory for the journal, nil for one that remembers nothing. What belongs to this process alone is left out.
func (m Memory) Encode() ([]byte, error) {
	fields := maps.Clone(m.fields)
	maps.DeleteFunc(fields, func(_ string, s state) bool { return len(s.Corrections) == 0 && s.Value == nil })
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(fields)
}

// Decode reads what Encode printed.
func Decode(text []byte) (Memory, error) {
	var m Memory
	if len(text) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, &m.fields); err != nil {
		return Memory{}, fmt.Errorf("memory: %w", err)
	}
	for path, s := range m.fields {
		if n, ok := s.Value.(float64); ok && n == float64(int64(n)) { // decoded objects hold whole numbers as int64
			s.Value = int64(n)
			m.fields[path] = s
		}
	}
	return m, nil
}
