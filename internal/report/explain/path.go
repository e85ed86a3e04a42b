package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
)

// step is one part of a path as people type it.
type step struct {
	name  string // of a map's field; or a list's position or the item of that name
	kind  stepKind
	index int
	keys  []key  // of a list item
	value string // of a set's member
	text  string // as it was typed
}

type stepKind string

const (
	byName  stepKind = "name"
	byIndex stepKind = "index"
	byKeys  stepKind = "keys"
	byValue stepKind = "value"
)

type key struct{ name, value string }

// parsePath reads a path in the forms that people type: .spec.replicas, spec.replicas, /spec/replicas, {.spec.replicas},
// $.spec.replicas, containers[name=web].image, containers[0].image, containers[?(@.name=="web")].image, metadata.annotations["a.b/c"],
// metadata.annotations.a\.b/c. None is the whole object.
func parsePath(text string) ([]step, error) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "{"); ok {
		text = strings.TrimSuffix(rest, "}")
	}
	text = strings.TrimPrefix(text, "$")
	if strings.HasPrefix(text, "/") {
		return pointerSteps(text)
	}
	var out []step
	for rest := text; rest != "" && rest != "."; {
		s, left, err := nextStep(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		out, rest = append(out, s), left
	}
	return out, nil
}

func pointerSteps(text string) ([]step, error) {
	if text == "/" {
		return nil, nil
	}
	tokens, err := field.ParsePointer(text)
	if err != nil {
		return nil, err
	}
	out := make([]step, 0, len(tokens))
	for _, t := range tokens {
		out = append(out, step{kind: byName, name: t, text: "/" + t})
	}
	return out, nil
}

// nextStep takes one step off the front.
func nextStep(text string) (s step, rest string, err error) {
	if strings.HasPrefix(text, "[") {
		return bracket(text)
	}
	text = strings.TrimPrefix(text, ".")
	if strings.HasPrefix(text, "[") {
		return bracket(text)
	}
	var b strings.Builder
	i := 0
	for ; i < len(text) && text[i] != '.' && text[i] != '['; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	if b.Len() == 0 {
		return s, "", fmt.Errorf("a name is missing before %q", text[i:])
	}
	return step{kind: byName, name: b.String(), text: "." + text[:i]}, text[i:], nil
}

// bracket reads [0], ["name"], ['name'], [name=web], [containerPort=80,protocol=TCP], [=value] and [?(@.name=="web")].
func bracket(text string) (step, string, error) {
	end := closing(text)
	if end < 0 {
		return step{}, "", fmt.Errorf("%q has no closing bracket", text)
	}
	inner, rest, whole := strings.TrimSpace(text[1:end]), text[end+1:], text[:end+1]
	if filter, ok := strings.CutPrefix(inner, "?("); ok {
		inner = strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(filter, ")"), "@.", ""), "==", "=")
		inner = strings.ReplaceAll(inner, "&&", ",")
	}
	if n, err := strconv.Atoi(inner); err == nil && n >= 0 {
		return step{kind: byIndex, index: n, text: whole}, rest, nil
	}
	if name, ok := unquoted(inner); ok {
		return step{kind: byName, name: name, text: whole}, rest, nil
	}
	if value, ok := strings.CutPrefix(inner, "="); ok {
		return step{kind: byValue, value: withoutQuotes(value), text: whole}, rest, nil
	}
	s := step{kind: byKeys, text: whole}
	for _, part := range splitAtCommas(inner) {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return step{}, "", fmt.Errorf("%s: want a position such as [0], a key such as [name=web], or a quoted name", whole)
		}
		s.keys = append(s.keys, key{withoutQuotes(name), withoutQuotes(value)})
	}
	return s, rest, nil
}

// closing finds the bracket that closes the first one, -1 if none does; what is quoted does not count.
func closing(text string) int { return indexUnquoted(text, 1, ']') }

// splitAtCommas cuts at commas that are not quoted.
func splitAtCommas(text string) []string {
	var out []string
	for {
		at := indexUnquoted(text, 0, ',')
		if at < 0 {
			return append(out, text)
		}
		out, text = append(out, text[:at]), text[at+1:]
	}
}

// indexUnquoted finds a byte that is not quoted, from a place on; -1 if there is none.
func indexUnquoted(text string, from int, want byte) int {
	var quote byte
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == want:
			return i
		}
	}
	return -1
}

func unquoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return "", false
	}
	if s[0] == '\'' {
		return s[1 : len(s)-1], true
	}
	out, err := strconv.Unquote(s)
	return out, err == nil
}

// withoutQuotes is a text with or without quotes.
func withoutQuotes(s string) string {
	s = strings.TrimSpace(s)
	if out, ok := unquoted(s); ok {
		return out
	}
	return s
}
