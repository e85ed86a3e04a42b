package pairing

import (
	"encoding/json"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
)

// identities are the fields by which the items of a list are known to people and to controllers, the first that an item has.
var identities = []field.Path{
	field.NewPath("name"), field.NewPath("metadata", "name"), field.NewPath("host"), field.NewPath("serviceName"), field.NewPath("service"),
	field.NewPath("secretName"), field.NewPath("path"), field.NewPath("destination"),
}

// mostPairs is how many pairs are looked at where items have no names: two lists of a hundred. The items of longer ones are paired in order.
const mostPairs = 10_000

// PairItems returns for each item of Git's list the position of its partner in the live list, -1 for none. The parts are fields that are not
// Git's, from the list on: the first element of each names an item. Items are paired by a name that is the only one of its kind in both
// lists; else where live has all that Git names, apart from the parts; else in order, if as many are left in the one list as in the
// other, and of the values that Git names, apart from the parts, live has one. Items of different names are never paired, but for one that is
// not Git's as a whole.
func PairItems(git, live []any, parts []field.Path) []int {
	m := matcher{git: git, live: live, partners: make([]int, len(git)), whole: make([]bool, len(git)), taken: make([]bool, len(live))}
	for i := range m.partners {
		m.partners[i] = -1
	}
	m.read(parts)
	m.ofGit = len(indexesOf(len(live), func(j int) bool { return !m.taken[j] }))
	for _, key := range identities {
		if !m.cedes(key) {
			m.keys = append(m.keys, key)
		}
	}
	for _, key := range m.keys {
		m.byName(key)
	}
	m.byContent()
	m.inOrder()
	return m.partners
}

// matcher pairs the items of two lists.
type matcher struct {
	git, live []any
	partners  []int
	taken     []bool       // of live: those that have a partner, and those that are not Git's
	ofGit     int          // how many of live are not another's by their keys
	whole     []bool       // of Git's: those that are not Git's as a whole, so that nothing in them says which item it is
	rests     []field.Path // what is not Git's in an item, whichever it is
	keys      []field.Path // the identities that no rest covers
}

func (m *matcher) read(parts []field.Path) {
	for _, part := range parts {
		e := part[0]
		switch {
		case e.Index != nil && len(part) > 1:
			m.rests = append(m.rests, part[1:])
		case e.Index != nil && *e.Index >= 0 && *e.Index < len(m.whole):
			m.whole[*e.Index] = true
		case e.Key != nil && len(part) == 1 && !m.names(e):
			for j, item := range m.live {
				m.taken[j] = m.taken[j] || field.Matches(item, e)
			}
		}
	}
}

// names reports whether Git's list has the item.
func (m *matcher) names(e field.Element) bool {
	return slices.ContainsFunc(m.git, func(item any) bool { return field.Matches(item, e) })
}

// cedes reports whether a part of the identity is not Git's.
func (m *matcher) cedes(key field.Path) bool {
	return slices.ContainsFunc(m.rests, func(rest field.Path) bool { return field.HasPrefix(key, rest) || field.HasPrefix(rest, key) })
}

func (m *matcher) pair(i, j int) { m.partners[i], m.taken[j] = j, true }

// byName pairs the items that alone have their value of the identity in each of the two lists.
func (m *matcher) byName(key field.Path) {
	of := map[string]int{} // the position in live; -1 for several
	for j, item := range m.live {
		if name, ok := identityOf(item, key); ok && !m.taken[j] {
			of[name] = onlyOne(of, name, j)
		}
	}
	if len(of) == 0 {
		return
	}
	in := map[string]int{}
	for i, item := range m.git {
		if name, ok := identityOf(item, key); ok {
			in[name] = onlyOne(in, name, i)
		}
	}
	for name, i := range in {
		j, there := of[name]
		if there && i >= 0 && j >= 0 && m.partners[i] < 0 && !m.differ(m.git[i], m.live[j]) {
			m.pair(i, j)
		}
	}
}

func onlyOne(positions map[string]int, name string, at int) int {
	if _, there := positions[name]; there {
		return -1
	}
	return at
}

// identityOf returns the value of an identity as a text, and whether the item has one.
func identityOf(item any, key field.Path) (string, bool) {
	m, isMap := item.(map[string]any)
	if !isMap {
		return "", false
	}
	v, there := field.ValueAt(m, key)
	if text, plain := v.(string); plain {
		return text, text != ""
	}
	if !there || v == nil {
		return "", false
	}
	text, err := json.Marshal(v)
	return string(text), err == nil
}

// differ reports whether the two items have different names: the first identity that both have decides.
func (m *matcher) differ(git, live any) bool {
	alike, named := m.haveOneName(git, live)
	return named && !alike
}

// haveOneName reports whether the first identity that both items have is the same, and whether there is one that both have.
func (m *matcher) haveOneName(git, live any) (alike, named bool) {
	for _, key := range m.keys {
		a, inGit := identityOf(git, key)
		b, inLive := identityOf(live, key)
		if inGit && inLive {
			return a == b, true
		}
	}
	return false, false
}

// byContent pairs items of which live has all that Git names, apart from the rests: those at the same position first.
func (m *matcher) byContent() {
	var left []int
	for i, item := range m.git {
		if m.partners[i] >= 0 || m.whole[i] || covered(item, m.rests) {
			continue
		}
		if i < len(m.live) && !m.taken[i] && m.same(item, m.live[i]) {
			m.pair(i, i)
			continue
		}
		left = append(left, i)
	}
	if len(left)*len(m.live) > mostPairs {
		return
	}
	for _, i := range left {
		for j, item := range m.live {
			if !m.taken[j] && m.same(m.git[i], item) {
				m.pair(i, j)
				break
			}
		}
	}
}

// same reports whether the live item is Git's, apart from the rests. An item that has a name in live alone is not: no API server gives one.
func (m *matcher) same(git, live any) bool {
	if !hasValues(live, git, m.rests) {
		return false
	}
	_, named := m.haveOneName(git, live)
	return named || !slices.ContainsFunc(m.keys, func(key field.Path) bool {
		_, there := identityOf(live, key)
		return there
	})
}

// inOrder pairs what is left, if as much is left in both lists. Else an item that is not Git's as a whole is the one at its position.
func (m *matcher) inOrder() {
	left := indexesOf(len(m.git), func(i int) bool { return m.partners[i] < 0 })
	free := indexesOf(len(m.live), func(j int) bool { return !m.taken[j] })
	if len(left) != len(free) {
		for _, i := range left {
			if m.whole[i] && i < len(m.live) && !m.taken[i] {
				m.pair(i, i)
			}
		}
		return
	}
	for k, i := range left {
		if m.whole[i] || m.mayBe(m.git[i], m.live[free[k]]) {
			m.pair(i, free[k])
		}
	}
}

// mayBe reports whether two items that are left may be the same one, of which both sides have changed something: they have a value in common beside
// the rests, or there is none beside the rests, or no other item.
func (m *matcher) mayBe(git, live any) bool {
	single := len(m.git) == 1 && m.ofGit == 1
	return !m.differ(git, live) && (single || covered(git, m.rests) || haveCommonValue(live, git, m.rests))
}

func indexesOf(n int, which func(int) bool) []int {
	var out []int
	for i := range n {
		if which(i) {
			out = append(out, i)
		}
	}
	return out
}

// hasValues reports whether live has every value that Git names, apart from the parts. Maps of live may hold more: the API server's defaults.
func hasValues(live, git any, parts []field.Path) bool {
	switch g := git.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for k, v := range g {
			below, whole := cutParts(parts, isField(k))
			c, there := l[k]
			if !whole && (!there || !hasValues(c, v, below)) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		below, whole := cutParts(parts, isListItem)
		return ok && (whole || slices.EqualFunc(l, g, func(a, b any) bool { return hasValues(a, b, below) }))
	}
	return field.EqualValues(live, git)
}

// haveCommonValue reports whether live has one of the values that Git names, apart from the parts, at the same place.
func haveCommonValue(live, git any, parts []field.Path) bool {
	switch g := git.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		for k, v := range g {
			below, whole := cutParts(parts, isField(k))
			if c, there := l[k]; there && !whole && haveCommonValue(c, v, below) {
				return true
			}
		}
		return false
	case []any:
		l, _ := live.([]any)
		below, whole := cutParts(parts, isListItem)
		for i, v := range g {
			if i < len(l) && !whole && haveCommonValue(l[i], v, below) {
				return true
			}
		}
		return false
	}
	return field.EqualValues(live, git)
}

// covered reports whether nothing of the value is left beside the parts.
func covered(v any, parts []field.Path) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, c := range v {
			below, whole := cutParts(parts, isField(k))
			if !whole && !covered(c, below) {
				return false
			}
		}
		return true
	case []any:
		below, whole := cutParts(parts, isListItem)
		return whole || !slices.ContainsFunc(v, func(item any) bool { return !covered(item, below) })
	}
	return false
}

// cutParts returns what is left of the parts that begin with such an element, and whether one of them ends there.
func cutParts(parts []field.Path, begins func(field.Element) bool) (below []field.Path, whole bool) {
	for _, part := range parts {
		if !begins(part[0]) {
			continue
		}
		if len(part) == 1 {
			return nil, true
		}
		below = append(below, part[1:])
	}
	return below, false
}

func isField(name string) func(field.Element) bool {
	return func(e field.Element) bool { return e.FieldName != nil && *e.FieldName == name }
}

func isListItem(e field.Element) bool { return e.FieldName == nil }
