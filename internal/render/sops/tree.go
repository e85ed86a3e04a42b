package sops

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/substitute"
)

// block is a mapping or a list, in the order of the file.
type block struct {
	list  bool
	items []item
}

// item is an entry of a mapping, an element of a list, or a comment between them.
type item struct {
	key     string // of an entry
	comment *comment
	value   any // nil, *block, *secret, or a leaf: string, int, float64, bool, time.Time
}

// comment is one line of a comment.
type comment struct {
	text    string // without its mark
	inline  bool   // behind the value that follows
	element bool   // encrypted, it is an element of a list
}

// secret is a leaf that was encrypted.
type secret struct {
	value  any
	public bool // what names an object: it has no placeholder
}

func (s *secret) shown(view View) any {
	if view == Values || s.public {
		return s.value
	}
	return placeholderOf(s.value)
}

// leafValue is the value of a leaf in a view.
func leafValue(v any, view View) any {
	if s, ok := v.(*secret); ok {
		return s.shown(view)
	}
	return v
}

// placeholderOf returns another value of the same type.
func placeholderOf(v any) any {
	switch v := v.(type) {
	case string:
		return substitute.Disguise(v)
	case int:
		return v ^ 1
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) || v+1 == v {
			return 0.5
		}
		return v + 1
	case bool:
		return !v
	case time.Time:
		return v.Add(time.Hour)
	}
	return v
}

// get returns the value of a key in a mapping.
func (b *block) get(key string) (any, bool) {
	for _, i := range b.items {
		if i.comment == nil && i.key == key {
			return i.value, true
		}
	}
	return nil, false
}

// drop takes a key out of a mapping.
func (b *block) drop(match func(key string) bool) (dropped []item) {
	var rest []item
	for _, i := range b.items {
		if i.comment == nil && match(i.key) {
			dropped = append(dropped, i)
		} else {
			rest = append(rest, i)
		}
	}
	b.items = rest
	return dropped
}

// goValue is a value of the tree without comments, as maps and lists.
func goValue(v any) any {
	b, ok := v.(*block)
	switch {
	case !ok:
		return v
	case b.list:
		list := make([]any, 0, len(b.items))
		for _, i := range b.items {
			if i.comment == nil {
				list = append(list, goValue(i.value))
			}
		}
		return list
	}
	m := make(map[string]any, len(b.items))
	for _, i := range b.items {
		if i.comment == nil {
			m[i.key] = goValue(i.value)
		}
	}
	return m
}

// macText is a leaf as the MAC covers it.
func macText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case time.Time:
		text, err := v.MarshalText()
		return string(text), err
	}
	return "", fmt.Errorf("a value of type %T cannot be in an encrypted file", v)
}

// plainText is a leaf as a text file has it.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		text := strconv.FormatFloat(v, 'G', -1, 64)
		if !strings.ContainsAny(text, ".E") {
			text = strconv.FormatFloat(v, 'f', 1, 64)
		}
		return text
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.Format(time.RFC3339)
	}
	return fmt.Sprint(v)
}

// decodeBase64 returns what a text stands for that is base64 and long enough to be no word.
func decodeBase64(text string) (string, bool) {
	if len(text) < 8 {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\r", "", "\n", "").Replace(text))
	return string(decoded), err == nil
}

// Limits of a file: what an alias or a nested list can make of a few bytes.
const (
	maxItems = 200_000
	maxDepth = 200
)

// budget counts what is read of a file.
type budget struct{ items int }

func (b *budget) spend(depth int) error {
	if b.items++; b.items > maxItems || depth > maxDepth {
		return fmt.Errorf("an encrypted file has at most %d values and %d levels: %w", maxItems, maxDepth, render.ErrLimit)
	}
	return nil
}
