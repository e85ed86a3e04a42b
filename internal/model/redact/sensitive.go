package redact

import (
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// AnyItem stands in Sensitive.Fields for every item of a list.
const AnyItem = "*"

// ItemNamed stands in Sensitive.Fields for the item of a list that has this name.
func ItemNamed(name string) string { return itemPrefix + name + "]" }

const itemPrefix = "[name="

// Sensitive says which fields of an object hold what came from a Secret or from an encrypted file, although the object is no Secret. The
// zero value hides nothing. Names of objects and keys of maps identify, and are not hidden.
type Sensitive struct {
	// Fields are the names on the way to each such field; AnyItem and ItemNamed are items of a list. A field with no names is the whole object.
	Fields [][]string
	// Known are the values that messages may repeat; nil for none.
	Known *Known
}

// IsZero reports whether nothing is hidden.
func (s Sensitive) IsZero() bool { return len(s.Fields) == 0 }

// Message returns what is reported about the object, such as the API server's answer, without its sensitive values.
func (s Sensitive) Message(text string) string {
	if s.IsZero() {
		return MaskText(text)
	}
	return s.Text(hideIntroduced(MaskText(text)))
}

// Text returns a text that is known to quote no value on purpose, such as an image or the message of a condition, without the known values.
func (s Sensitive) Text(text string) string {
	if s.Known == nil {
		return text
	}
	return s.Known.Text(text)
}

// With returns a mask that also hides the sensitive fields of one object.
func (m Mask) With(s Sensitive) Mask {
	m.sensitive = s
	return m
}

// cover returns a value of a field without what is sensitive in it.
func (m Mask) cover(p field.Path, v any) any {
	for _, names := range m.sensitive.Fields {
		if rest, ok := remainingNames(names, p); ok {
			v = m.hideBelow(v, rest)
		}
	}
	if m.sensitive.Known == nil {
		return v
	}
	return m.hideKnown(v)
}

// remainingNames returns what is left of the way to a sensitive field at a path: nothing where the path ends in the field or deeper. False: the two
// lead to different fields.
func remainingNames(names []string, p field.Path) ([]string, bool) {
	for i, e := range p {
		if i == len(names) {
			return nil, true
		}
		if e.FieldName != nil && *e.FieldName != names[i] || e.FieldName == nil && !mayBeItem(names[i], e) {
			return nil, false
		}
	}
	return names[len(p):], true
}

// mayBeItem reports whether a part of a path names the item, or one of several that it may be.
func mayBeItem(item string, e field.Element) bool {
	name, ok := strings.CutPrefix(item, itemPrefix)
	if !ok || e.Key == nil {
		return ok || item == AnyItem
	}
	for _, key := range *e.Key {
		if key.Name == "name" {
			return key.Value.IsString() && key.Value.AsString()+"]" == name
		}
	}
	return true
}

// isListItem reports whether an item of a list is, or may be, the one that is meant.
func isListItem(item string, v any) bool {
	m, _ := v.(map[string]any)
	name, ok := m["name"].(string)
	return item == AnyItem || strings.HasPrefix(item, itemPrefix) && (!ok || ItemNamed(name) == item)
}

// hideBelow masks what is at the end of the way. Nothing on the way is changed in place.
func (m Mask) hideBelow(v any, names []string) any {
	if v == nil {
		return nil
	}
	if len(names) == 0 {
		return m.deep(v)
	}
	switch v := v.(type) {
	case map[string]any:
		if inner, ok := v[names[0]]; ok {
			out := maps.Clone(v)
			out[names[0]] = m.hideBelow(inner, names[1:])
			return out
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			if out[i] = e; isListItem(names[0], e) {
				out[i] = m.hideBelow(e, names[1:])
			}
		}
		return out
	}
	return v
}

// hideKnown masks texts that hold a known value, wherever they are: a live object may hold it elsewhere than Git's does.
func (m Mask) hideKnown(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = m.hideKnown(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.hideKnown(e)
		}
		return out
	case string:
		if m.sensitive.Known.isIn(v) {
			return m.mark(v)
		}
	}
	return v
}

// isIn reports whether a text holds one of the values, in any form.
func (k Known) isIn(text string) bool {
	forms := k.made()
	within := func(form string) bool { return strings.Contains(text, form) }
	return slices.ContainsFunc(forms.texts, within) || slices.ContainsFunc(forms.base64, within)
}

// sensitiveObject returns an object that is no Secret with its sensitive fields masked.
func (m Mask) sensitiveObject(o object.Object) (Shown, bool) {
	if m.sensitive.IsZero() {
		return Shown(o), false
	}
	out, _ := m.cover(nil, map[string]any(o)).(map[string]any)
	for _, key := range []string{"apiVersion", "kind"} {
		if _, ok := o[key]; ok {
			out[key] = o[key]
		}
	}
	given, _ := o["metadata"].(map[string]any)
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, key := range []string{"name", "namespace"} {
			if name, ok := given[key]; ok {
				meta[key] = name
			}
		}
		out["metadata"] = meta
	}
	return out, true
}

// IsMasked reports whether a value is what a mask shows in place of another: two marks of different processes cannot be compared.
func IsMasked(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, hiddenMark)
}
