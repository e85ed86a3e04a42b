package redact

import (
	"encoding/base64"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Object returns a Secret as a person may see it, and any other object itself, but for the fields that With names. All values stand in data, those of stringData
// too, under their marks: no API server takes them for base64, so that what is masked cannot be applied by mistake. Equal
// values have equal marks, in whichever of the two they stood. It reports whether the object is masked.
func (m Mask) Object(o object.Object) (Shown, bool) {
	if !IsSecret(o.ID()) {
		return m.sensitiveObject(o)
	}
	data := map[string]any{}
	if given, ok := o["data"].(map[string]any); ok {
		for k, v := range given {
			data[k] = m.mark(plainText(v))
		}
	}
	text, _ := o["stringData"].(map[string]any)
	for k, v := range text {
		data[k] = m.deep(v)
	}
	out := Shown{}
	for k, v := range o {
		switch k {
		case "data", "stringData":
			out["data"] = data
		case "apiVersion", "kind", "type", "immutable":
			out[k] = v
		case "metadata":
			out[k] = m.metadata(v)
		default:
			out[k] = m.deep(v)
		}
	}
	return out, true
}

// plainText is what base64 stands for; a value that is none stands for itself.
func plainText(v any) string {
	s, ok := v.(string)
	if !ok {
		return ""
	}
	if decoded, err := base64.StdEncoding.DecodeString(s); err == nil {
		return string(decoded)
	}
	return s
}

func (m Mask) metadata(v any) any {
	given, ok := v.(map[string]any)
	if !ok {
		return m.deep(v)
	}
	out := make(map[string]any, len(given))
	for k, e := range given {
		if k == "annotations" {
			e = m.deep(e)
		}
		out[k] = e
	}
	return out
}
