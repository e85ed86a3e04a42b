package ownership

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// quotedText is the JSON form of an element's text.
func quotedText(text string) string {
	switch howPlain(text) {
	case plain:
		return `"` + text + `"`
	case escapable:
		var b strings.Builder
		b.Grow(len(text) + 8)
		b.WriteByte('"')
		for i := range len(text) {
			if text[i] == '"' || text[i] == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
		}
		b.WriteByte('"')
		return b.String()
	}
	out, _ := json.Marshal(text) // a string always has a JSON form
	return string(out)
}

// unquoted is the text that a JSON string without its quotes stands for.
func unquoted(raw string) (string, error) {
	if howPlain(raw) == plain {
		return raw, nil
	}
	if howPlain(raw) == escapable && !oddEscapes(raw) {
		var b strings.Builder
		b.Grow(len(raw))
		for i := 0; i < len(raw); i++ {
			if raw[i] == '\\' {
				i++
			}
			b.WriteByte(raw[i])
		}
		return b.String(), nil
	}
	var out string
	err := json.Unmarshal([]byte(`"`+raw+`"`), &out)
	return out, err
}

// oddEscapes reports whether the JSON string has an escape of anything but a quote or a backslash, or a bare quote.
func oddEscapes(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '"' {
			return true
		}
		if raw[i] != '\\' {
			continue
		}
		if i++; i >= len(raw) || raw[i] != '"' && raw[i] != '\\' {
			return true
		}
	}
	return false
}

// cutName takes a quoted name and its colon off the front of a text.
func cutName(text, name string) (rest string, ok bool) {
	how := howPlain(name)
	if how == special {
		return strings.CutPrefix(text, quotedText(name)+":")
	}
	if rest, ok = strings.CutPrefix(text, `"`); !ok {
		return rest, false
	}
	if how == plain {
		rest, ok = strings.CutPrefix(rest, name)
	} else {
		rest, ok = cutEscaped(rest, name)
	}
	if !ok {
		return rest, false
	}
	return strings.CutPrefix(rest, `":`)
}

func cutEscaped(text, name string) (rest string, ok bool) {
	at := 0
	for i := range len(name) {
		if c := name[i]; c == '"' || c == '\\' {
			if at >= len(text) || text[at] != '\\' {
				return text, false
			}
			at++
		}
		if at >= len(text) || text[at] != name[i] {
			return text, false
		}
		at++
	}
	return text[at:], true
}

// How a text looks in JSON: as it is, with backslashes before quotes and backslashes, or else.
const (
	plain = iota
	escapable
	special
)

func howPlain(text string) int {
	how := plain
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20 || c >= 0x7f || c == '<' || c == '>' || c == '&':
			return special
		case c == '"' || c == '\\':
			how = escapable
		}
	}
	return how
}

// plainKey reads a list key of plain texts and small whole numbers, such as k:{"name":"web"}: nearly all are of that kind, and
// the library takes ten times as long. It reports false for any other.
func plainKey(text string) (*field.Element, bool) {
	rest, ok := strings.CutPrefix(text, "k:{")
	if !ok {
		return nil, false
	}
	k := &struct { // in one piece: nearly all keys have one field
		field.Element
		list  value.FieldList
		first [1]value.Field
	}{}
	k.list = k.first[:0]
	for ok && rest != "}" {
		var f value.Field
		if f, rest, ok = plainField(rest); !ok {
			return nil, false
		}
		k.list = append(k.list, f)
		if next, more := strings.CutPrefix(rest, ","); more {
			rest, ok = next, next != "}"
		} else {
			ok = rest == "}"
		}
	}
	if !ok || len(k.list) == 0 {
		return nil, false
	}
	if !slices.IsSortedFunc(k.list, func(a, b value.Field) int { return strings.Compare(a.Name, b.Name) }) {
		k.list.Sort()
	}
	k.Key = &k.list
	return &k.Element, true
}

// maxDigits keeps a number within what a float holds exactly, as the library reads it.
const maxDigits = 15

func plainField(text string) (f value.Field, rest string, ok bool) {
	if text, ok = strings.CutPrefix(text, `"`); !ok {
		return f, text, false
	}
	if f.Name, text, ok = strings.Cut(text, `":`); !ok || howPlain(f.Name) != plain {
		return f, text, false
	}
	if text, ok = strings.CutPrefix(text, `"`); ok {
		word, rest, closed := strings.Cut(text, `"`)
		f.Value = value.NewValueInterface(word)
		return f, rest, closed && howPlain(word) == plain
	}
	end := strings.IndexAny(text, ",}")
	if end < 1 || end > maxDigits || end > 1 && text[0] == '0' || strings.Trim(text[:end], "0123456789") != "" {
		return f, text, false
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	f.Value = value.NewValueInterface(n)
	return f, text[end:], err == nil
}
