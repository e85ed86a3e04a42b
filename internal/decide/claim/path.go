package claim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"go.yaml.in/yaml/v3"
)

// Path says in a catalogue which fields are meant: spec.replicas, webhooks[*].clientConfig.caBundle,
// metadata.annotations["example.com/*"], spec.template.spec.containers[name=web].env[name=X_*].
// A * in brackets stands for any text, and $items in the value of a key for each of those that the claimant names (Evidence.Items). List items
// are named by a key, or all of them by [*]; never by position.
type Path struct {
	text  string
	steps []step
	plain field.Path // where nothing is left open; else nil
}

// step is one part of a Path: a name, a pattern of map keys, or some items of a list.
type step struct {
	name string // of a field, or the pattern of a key
	item bool   // an item of a list: of which the key (any, if empty) holds what name says
	key  string

	items string // the name with allItems in it, where the claimant names the items; then name is that of any
}

// allItems stands in a path for each item that a claimant names.
const allItems = "$items"

func (s step) open() bool { return s.item || strings.Contains(s.name, "*") }

const (
	maxPathText  = 512
	maxPathSteps = 32
)

// parsePath reads the text form.
func parsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	for rest != "" || len(p.steps) == 0 {
		s, after, err := cutStep(rest, len(p.steps) == 0)
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		p.steps, rest = append(p.steps, s), after
		if len(p.steps) > maxPathSteps || len(text) > maxPathText {
			return Path{}, fmt.Errorf("path %.40q…: longer than any field's", text)
		}
	}
	if p.steps[0].item {
		return Path{}, fmt.Errorf("path %q: begins with a list item; an object is a map", text)
	}
	if !slices.ContainsFunc(p.steps, step.open) {
		for _, s := range p.steps {
			p.plain = append(p.plain, field.NewPath(s.name)...)
		}
	}
	return p, nil
}

func cutStep(text string, first bool) (s step, rest string, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return cutBrackets(inner)
	}
	if !first {
		var ok bool
		if text, ok = strings.CutPrefix(text, "."); !ok {
			return step{}, "", fmt.Errorf("want . or [ before %q", text)
		}
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return step{}, "", fmt.Errorf("want a field's name before %q; other keys stand in brackets and quotes", text)
	}
	return step{name: text[:end]}, text[end:], nil
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '$'
}

// cutBrackets reads what follows an opening bracket: *], "key"], name=value].
func cutBrackets(text string) (s step, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		name, rest, ok := strings.Cut(quoted, `"]`)
		if !ok || name == "" {
			return step{}, "", fmt.Errorf(`want ["key"]`)
		}
		return step{name: name}, rest, nil
	}
	inner, rest, ok := strings.Cut(text, "]")
	if !ok {
		return step{}, "", fmt.Errorf("a bracket is not closed")
	}
	if inner == "*" {
		return step{item: true, name: "*"}, rest, nil
	}
	key, name, ok := strings.Cut(inner, "=")
	if !ok || key == "" || name == "" || strings.ContainsFunc(key, func(r rune) bool { return !isNameRune(r) }) {
		return step{}, "", fmt.Errorf(`[%s]: want [*], [key=value] or ["key"]; an item's position says nothing`, inner)
	}
	s = step{item: true, key: key, name: strings.ReplaceAll(name, allItems, "*")}
	if s.name != name {
		s.items = name
	}
	return s, rest, nil
}

func (s step) ofItems() bool { return s.items != "" }

// ofItems reports whether the path leaves it to a claimant which items it means.
func (p Path) ofItems() bool { return slices.ContainsFunc(p.steps, step.ofItems) }

// ofItem is the path with one of the items that a claimant names.
func (p Path) ofItem(name string) Path {
	p.steps = slices.Clone(p.steps)
	for i, s := range p.steps {
		if s.ofItems() {
			p.steps[i].name = strings.ReplaceAll(s.items, allItems, name)
		}
	}
	return p
}

// String returns the text form.
func (p Path) String() string { return p.text }

// MarshalText returns the text form.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalYAML reads the text form; the error names the line.
func (p *Path) UnmarshalYAML(n *yaml.Node) error {
	var text string
	err := n.Decode(&text)
	if err == nil {
		*p, err = parsePath(text)
	}
	return withLine(n.Line, err)
}

// given reports whether a catalogue names the path at all.
func (p Path) given() bool { return len(p.steps) > 0 }

// get returns the value of a path that leaves nothing open.
func (p Path) get(o object.Object) any {
	v, _ := field.ValueAt(map[string]any(o), p.plain)
	return v
}

// values lists what stands at the path, of every item and key that is meant.
func (p Path) values(o object.Object) []any {
	var out []any
	for _, ptr := range p.pointers(o) {
		if v, ok := resolvePointer(map[string]any(o), ptr); ok {
			out = append(out, v)
		}
	}
	return out
}

func resolvePointer(v any, ptr field.Pointer) (any, bool) {
	for _, token := range ptr {
		switch c := v.(type) {
		case map[string]any:
			v = c[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, v != nil
}

// in lists the fields that are meant in Git's object and in the live one, as Git's object has them. What a path names after its last open
// step need not be there. In an item of live of which Git has none, nothing is named; such an item itself is, where the path ends with it.
func (p Path) in(s Subject) []field.Path {
	if p.plain != nil {
		return []field.Path{p.plain}
	}
	inGit, inLive := p.resolved(s.Desired, s.Owners), p.resolved(s.Live, s.Owners)
	if s.Desired == nil {
		return uniquePaths(inLive)
	}
	items := p.foreign(s, inLive)
	if p.endsWithItem() {
		inLive = slices.DeleteFunc(inLive, func(at field.Path) bool { return at[len(at)-1].Index != nil })
	}
	return uniquePaths(append(pairing.UniteInGit(s.Desired, s.Live, inGit, inLive), items...))
}

// isGits reports whether a path that a claim to some items means is an item of Git's own list: under merge that is Git's, whatever its name.
func (p Path) isGits(s Subject, at field.Path) bool {
	return s.Desired != nil && p.endsWithItem() && len(at) > 0 && at[len(at)-1].Index != nil
}

// endsWithItem reports whether the path ends with list items that a key names.
func (p Path) endsWithItem() bool { return p.steps[len(p.steps)-1].key != "" }

// resolved lists the fields that are meant in one object.
func (p Path) resolved(o object.Object, owners []ownership.Entry) []field.Path {
	var out []field.Path
	for _, ptr := range p.pointers(o) {
		if found, _ := ownership.Resolve(ptr, o, owners); found != nil {
			out = append(out, found)
		}
	}
	return out
}

func uniquePaths(all []field.Path) []field.Path {
	var out []field.Path
	for _, p := range all {
		if !slices.ContainsFunc(out, p.Equals) {
			out = append(out, p)
		}
	}
	return out
}

// foreign names the items that the path means in an atomic list of the live object, and that Git's list has not, by their key.
func (p Path) foreign(s Subject, inLive []field.Path) []field.Path {
	if !p.endsWithItem() {
		return nil
	}
	var out []field.Path
	for _, at := range inLive {
		item, _ := field.ValueAt(s.Live, at)
		m, isMap := item.(map[string]any)
		if !isMap || slices.IndexFunc(at, func(e field.Element) bool { return e.Index != nil }) != len(at)-1 {
			continue
		}
		named := append(at[:len(at)-1].Copy(), field.KeyElement(m, []string{p.steps[len(p.steps)-1].key}))
		_, listed := field.ValueAt(s.Desired, at[:len(at)-1])
		if _, there := field.ValueAt(s.Desired, named); listed && !there {
			out = append(out, named)
		}
	}
	return out
}

func (p Path) pointers(o object.Object) []field.Pointer {
	var out []field.Pointer
	walkSteps(map[string]any(o), p.steps, nil, func(ptr field.Pointer) { out = append(out, slices.Clone(ptr)) })
	return out
}

func walkSteps(v any, steps []step, ptr field.Pointer, visit func(field.Pointer)) {
	if !slices.ContainsFunc(steps, step.open) {
		for _, s := range steps {
			ptr = append(ptr, s.name)
		}
		visit(ptr)
		return
	}
	s := steps[0]
	switch c := v.(type) {
	case map[string]any:
		for _, k := range s.keys(c) {
			walkSteps(c[k], steps[1:], append(ptr, k), visit)
		}
	case []any:
		for i, item := range c {
			if s.takes(item) {
				walkSteps(item, steps[1:], append(ptr, strconv.Itoa(i)), visit)
			}
		}
	}
}

// keys lists the keys of a map that the step means and that are there.
func (s step) keys(m map[string]any) []string {
	if s.item {
		return nil
	}
	if !s.open() {
		if _, there := m[s.name]; !there {
			return nil
		}
		return []string{s.name}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return !matchesGlob(s.name, k) })
}

func (s step) takes(item any) bool {
	if !s.item {
		return false
	}
	m, ok := item.(map[string]any)
	return s.key == "" || ok && matchesGlob(s.name, valueText(m[s.key]))
}

// covers reports whether a field is meant, or lies in one that is.
func (p Path) covers(f field.Path) bool {
	if len(f) < len(p.steps) {
		return false
	}
	for i, s := range p.steps {
		if !s.means(f[i]) {
			return false
		}
	}
	return true
}

// touches reports whether a field may be meant, lie in one that is, or hold one. A position does not say which item it is.
func (p Path) touches(f field.Path) bool {
	for i := range min(len(f), len(p.steps)) {
		if !p.steps[i].means(f[i]) && (f[i].Index == nil || !p.steps[i].item) {
			return false
		}
	}
	return true
}

func (s step) means(e field.Element) bool {
	if !s.item {
		return e.FieldName != nil && matchesGlob(s.name, *e.FieldName)
	}
	if e.FieldName != nil || s.key == "" {
		return e.FieldName == nil
	}
	if e.Key == nil {
		return false
	}
	for _, k := range *e.Key {
		if k.Name == s.key {
			return matchesGlob(s.name, valueText(k.Value.Unstructured()))
		}
	}
	return false
}

// matchesGlob matches a text with a pattern in which * stands for any text.
func matchesGlob(pattern, s string) bool {
	head, rest, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}

// valueText prints a single value; nothing for none.
func valueText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
