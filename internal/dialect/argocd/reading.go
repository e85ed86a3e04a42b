package argocd

import (
	"encoding/json"

	"github.com/truce-gitops/truce/internal/dialect/reader"
)

// reading is one custom resource while it is read.
type reading struct{ reader.Reader }

// isFieldSet reports whether a value says anything: not null, nor an empty object, list or text.
func isFieldSet(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case json.RawMessage:
		text := string(v)
		return text != "" && text != "null" && text != "{}"
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return v != ""
}
