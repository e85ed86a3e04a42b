package yamledit

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// addition is a new entry: of a map with its key, or of a list.
type addition struct {
	kind  yaml.Kind
	key   string
	value any
}

// whole is the map or list that has nothing but the entry.
func (a addition) whole() any {
	if a.kind == yaml.MappingNode {
		return Map{{a.key, a.value}}
	}
	return []any{a.value}
}

// isSmall reports whether the entry takes no line of its own in the value.
func (a addition) isSmall() bool {
	switch a.value.(type) {
	case Map, []any:
		return false
	}
	return true
}

func (t *text) add(at *position, a addition) ([]replacement, error) {
	switch {
	case at.node.Kind == yaml.AliasNode:
		return nil, ErrShared
	case at.node.Kind == yaml.ScalarNode:
		return t.fill(at, a)
	case at.flow() && at.size() == 0 && !at.inFlow && !t.json && !a.isSmall():
		return t.fill(at, a)
	case at.flow():
		return t.addFlow(at, a)
	}
	last, err := t.child(at, at.size()-1)
	if err != nil {
		return nil, err
	}
	to, err := t.to(last)
	if err != nil {
		return nil, err
	}
	if !t.restIsEmpty(to) {
		return nil, ErrForm
	}
	end := t.lineEnd(to)
	return []replacement{{end, end, t.rows(t.style.block(a.whole(), 0), last.indent)}}, nil
}

// rows writes lines behind the end of another one.
func (t *text) rows(lines []string, indent int) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(t.eol)
		if l != "" {
			b.WriteString(strings.Repeat(" ", max(indent, 0)) + l)
		}
	}
	return b.String()
}

// fill puts a first entry where there is nothing: a null, or empty brackets.
func (t *text) fill(at *position, a addition) ([]replacement, error) {
	in, err := t.introduced(at)
	if err != nil {
		return nil, err
	}
	from, to := in, in
	if !at.isBare() {
		if from, err = t.begin(at.node); err == nil {
			to, err = t.end(at.node, at.indent)
		}
		if err != nil {
			return nil, err
		}
	}
	if at.inFlow || t.json {
		written := t.style.flow(a.whole(), form{json: t.json})
		if at.isBare() {
			written = " " + written
		}
		return []replacement{{from, to, written}}, nil
	}
	lines := t.style.block(a.whole(), 0)
	switch {
	case !t.restIsEmpty(to):
		return nil, ErrForm
	case at.up == nil:
		return []replacement{{from, to, strings.TrimPrefix(t.rows(lines, 0), t.eol)}}, nil
	case at.key == nil && t.blanks(to) == t.lineEnd(to) && at.node.Anchor == "" && at.node.Style&yaml.TaggedStyle == 0:
		written := strings.TrimPrefix(t.rows(lines, at.indent+2), t.eol)
		return []replacement{{in, to, " " + strings.TrimLeft(written, " ")}}, nil
	}
	end := t.lineEnd(to)
	return []replacement{{in, to, ""}, {end, end, t.rows(lines, at.indent+t.style.deeper(a.kind, at.key == nil))}}, nil
}

// addFlow puts an entry before the closing bracket: in a line of its own where the last one has one.
func (t *text) addFlow(at *position, a addition) ([]replacement, error) {
	from, err := t.begin(at.node)
	if err != nil {
		return nil, err
	}
	to, err := t.end(at.node, at.indent)
	if err != nil {
		return nil, err
	}
	f := form{json: t.json}
	if at.size() == 0 {
		inner := t.style.entry(a, f)
		return []replacement{{from + 1, to - 1, inner}}, nil
	}
	if open := t.data[from]; open != '{' && open != '[' {
		return nil, ErrForm
	}
	last, err := t.child(at, at.size()-1)
	if err != nil {
		return nil, err
	}
	if f.like = last.node.Style; last.key != nil {
		f.like, f.key = 0, last.key.Style
	}
	return t.behind(last, to-1, t.style.entry(a, f))
}

// behind writes an entry behind the last one, before the bracket at closing.
func (t *text) behind(last *position, closing int, entry string) ([]replacement, error) {
	start, end, err := t.span(last)
	if err != nil {
		return nil, err
	}
	comma := t.space(end)
	hasComma := t.data[comma] == ','
	ownLine := t.isFirst(start) && t.line(closing) != t.line(end)
	switch {
	case ownLine && hasComma:
		row := t.lineEnd(comma)
		return []replacement{{row, row, t.rows([]string{entry + ","}, t.column(start))}}, nil
	case ownLine:
		row := t.lineEnd(end)
		return []replacement{{end, end, ","}, {row, row, t.rows([]string{entry}, t.column(start))}}, nil
	case hasComma:
		return []replacement{{comma + 1, comma + 1, " " + entry}}, nil
	}
	return []replacement{{end, end, ", " + entry}}, nil
}
