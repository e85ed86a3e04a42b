package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Locate finds the field that a path means, in the live object, in Git's, or among those that the journal knows. An error says what
// is near. The path of the whole object is empty. A position in a list without keys is that in Git's list, as in all paths that are printed; only what
// Git's list has not is found by its position in the live one.
func (s Subject) Locate(text string) (field.Path, error) {
	steps, err := parsePath(text)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	var far lost
	inLive := s.resolve(s.Live, steps, &far)
	inGit := s.resolve(s.Git, steps, &far)
	switch n := slices.IndexFunc(inLive, isPosition); {
	case inLive == nil && inGit != nil, n >= 0 && len(inGit) > n && isPosition(inGit[n]) && inGit[:n].Equals(inLive[:n]):
		return inGit, nil
	case inLive != nil:
		return s.pathsInLive(s.itemPairs(), inLive).name(), nil
	}
	if p := s.remembered(steps); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s has no field %s%s", s.ID, strings.TrimSpace(text), far.hint())
}

// resolve finds the field that a path means in one object; nil for none. Then far is where the path has left the object, if it has led farther.
func (s Subject) resolve(o redact.Shown, steps []step, far *lost) field.Path {
	at, l := followPath(o, steps)
	if l == nil {
		if p, ok := ownership.Resolve(at, o.Object(), s.Owners); ok {
			return p
		}
		return nil
	}
	if o != nil && (far.left == nil || len(l.left) < len(far.left)) {
		*far = *l
	}
	return nil
}

// remembered finds a field that only the journal knows; nil for none.
func (s Subject) remembered(steps []step) field.Path {
	for _, e := range s.Journal {
		known, err := parsePath(e.Path)
		if err == nil && len(known) > 0 && canonicalPath(known) == canonicalPath(steps) {
			return pathFromSteps(known)
		}
	}
	return nil
}

// lost is where a path has left an object.
type lost struct {
	at   field.Pointer // as far as it led
	left []step
	here any // what stands there
	many int // items that the step names, if more than one
}

// followPath walks an object and returns the positions on the way, or where it has lost the path.
func followPath(o redact.Shown, steps []step) (field.Pointer, *lost) {
	var v any = map[string]any(o)
	var at field.Pointer
	for len(steps) > 0 {
		token, used, many := findChild(v, steps)
		if used == 0 {
			return nil, &lost{at: at, left: steps, here: v, many: many}
		}
		switch c := v.(type) {
		case map[string]any:
			v = c[token]
		case []any:
			i, _ := strconv.Atoi(token) // into has found it there
			v = c[i]
		}
		at, steps = append(at, token), steps[used:]
	}
	return at, nil
}

// findChild finds the child that the first steps name, and how many steps that takes; 0 if there is none.
func findChild(v any, steps []step) (token string, used, many int) {
	switch c := v.(type) {
	case map[string]any:
		return findField(c, steps)
	case []any:
		found := positions(c, steps[0])
		if len(found) == 1 {
			return strconv.Itoa(found[0]), 1, 0
		}
		return "", 0, len(found)
	}
	return "", 0, 0
}

// findField finds a map's field. A name with dots in it may be typed as it is: metadata.labels.app.kubernetes.io/name.
func findField(m map[string]any, steps []step) (token string, used, many int) {
	for i, name := range joinedNames(steps) {
		v, ok := m[name]
		if ok && used == 0 {
			token, used = name, i+1
		}
		if ok && (i+1 == len(steps) || branches(v)) {
			return name, i + 1, 0 // rather than the label "app" with something below it
		}
	}
	return token, used, 0
}

// joinedNames are the names that the first step, the first two, and so on, make.
func joinedNames(steps []step) []string {
	var out []string
	name := ""
	for i, s := range steps {
		if s.kind != byName {
			break
		}
		if i > 0 {
			name += "."
		}
		name += s.name
		out = append(out, name)
	}
	return out
}

// positions finds the items of a list that a step names: by its place, by what it is, by its keys, by its name.
func positions(list []any, s step) []int {
	if n, err := strconv.Atoi(s.name); s.kind == byName && err == nil {
		s.kind, s.index = byIndex, n
	}
	var out []int
	for i, item := range list {
		if s.meets(i, item) {
			out = append(out, i)
		}
	}
	return out
}

// meets reports whether the step names the item at a place.
func (s step) meets(i int, item any) bool {
	m, isMap := item.(map[string]any)
	switch s.kind {
	case byIndex:
		return i == s.index
	case byValue:
		return !isMap && fmt.Sprint(item) == s.value
	case byKeys:
		return isMap && !slices.ContainsFunc(s.keys, func(k key) bool { return !hasMapKey(m, k) })
	case byName:
	}
	return isMap && m["name"] == s.name
}

func hasMapKey(m map[string]any, k key) bool {
	v, ok := m[k.name]
	return ok && fmt.Sprint(v) == k.value
}

// canonicalPath is a path in one form, however it was typed.
func canonicalPath(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch s.kind {
		case byName:
			b.WriteString("." + s.name)
		case byIndex:
			fmt.Fprintf(&b, "[%d]", s.index)
		default:
			fmt.Fprintf(&b, "%v%q", s.keys, s.value)
		}
	}
	return b.String()
}

// pathFromSteps is a path that no object describes further.
func pathFromSteps(steps []step) field.Path {
	var out field.Path
	for _, s := range steps {
		switch s.kind {
		case byIndex:
			out = append(out, field.Element{Index: &s.index})
		case byKeys:
			item, names := map[string]any{}, []string{}
			for _, k := range s.keys {
				item[k.name], names = k.value, append(names, k.name)
			}
			out = append(out, field.KeyElement(item, names))
		default:
			out = append(out, field.NewPath(s.name)...)
		}
	}
	return out
}

// hint says what there is where the path has left the object.
func (l lost) hint() string {
	if l.left == nil {
		return ""
	}
	where := "the object"
	if len(l.at) > 0 {
		where = l.at.String()
	}
	first := l.left[0]
	switch c := l.here.(type) {
	case map[string]any:
		return mapHint(where, joinedNames(l.left), c)
	case []any:
		return listHint(where, first, l.many, c)
	}
	return fmt.Sprintf(": %s is a single value", where)
}

// maxNames is how many names a hint lists.
const maxNames = 12

func mapHint(where string, typed []string, m map[string]any) string {
	names := slices.Sorted(maps.Keys(m))
	for _, name := range typed {
		if found := ignore.NearWords(name, names); len(found) > 0 {
			return fmt.Sprintf(": did you mean %q in %s?", found[0], where)
		}
	}
	return fmt.Sprintf(": %s has %s", where, firstNames(names))
}

func listHint(where string, s step, many int, list []any) string {
	if many > 1 {
		return fmt.Sprintf(": %s names %d items of %s; say which, such as [0]", s.text, many, where)
	}
	var names []string
	for i, item := range list {
		m, _ := item.(map[string]any)
		if name, ok := m["name"].(string); ok {
			names = append(names, "[name="+name+"]")
		} else {
			names = append(names, "["+strconv.Itoa(i)+"]")
		}
	}
	return fmt.Sprintf(": %s has the items %s", where, firstNames(names))
}

func firstNames(names []string) string {
	switch {
	case len(names) == 0:
		return "nothing in it"
	case len(names) > maxNames:
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
