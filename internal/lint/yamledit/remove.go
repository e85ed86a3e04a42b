package yamledit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// remove takes out an entry of a map or a list.
func (t *text) remove(at *position, left WhenEmpty) ([]replacement, error) {
	anchored := map[*yaml.Node]bool{}
	for _, d := range t.docs {
		aliased(d, anchored)
	}
	if containsAny(at.node, anchored) {
		return nil, ErrShared
	}
	switch up := at.up; {
	case up == nil:
		return t.hollow(at)
	case up.size() > 1 && at.inFlow:
		return t.removeFlow(at)
	case up.size() > 1:
		return t.removeBlock(at)
	case left == RemoveEmpty && up.up != nil:
		return t.remove(up, left)
	default:
		return t.hollow(up)
	}
}

func containsAny(n *yaml.Node, any map[*yaml.Node]bool) bool {
	if any[n] {
		return true
	}
	for _, c := range n.Content {
		if containsAny(c, any) {
			return true
		}
	}
	return false
}

// hollow leaves brackets of a whole map or list.
func (t *text) hollow(at *position) ([]replacement, error) {
	brackets, ok := map[yaml.Kind]string{yaml.MappingNode: "{}", yaml.SequenceNode: "[]"}[at.node.Kind]
	if !ok {
		return nil, ErrForm
	}
	from, err := t.begin(at.node)
	if err != nil {
		return nil, err
	}
	to, err := t.end(at.node, at.indent)
	if err != nil {
		return nil, err
	}
	if at.flow() && t.data[from] == brackets[0] {
		return []replacement{{from + 1, to - 1, ""}}, nil
	}
	in, err := t.introduced(at)
	if err != nil || at.up == nil || at.flow() || t.line(in) == t.line(from) {
		return []replacement{{from, to, brackets}}, err
	}
	first, err := t.child(at, 0)
	if err != nil {
		return nil, err
	}
	c, err := t.wholeLines(first, from, to)
	return []replacement{{in, in, " " + brackets}, c}, err
}

// removeBlock takes out an entry that is not the only one of a block.
func (t *text) removeBlock(at *position) ([]replacement, error) {
	from, to, err := t.span(at)
	if err != nil {
		return nil, err
	}
	if t.isFirst(from) {
		c, err := t.wholeLines(at, from, to)
		return []replacement{c}, err
	}
	if at.index+1 >= at.up.size() || !t.restIsEmpty(to) {
		return nil, ErrForm
	}
	following, err := t.child(at.up, at.index+1)
	if err != nil {
		return nil, err
	}
	next, err := t.from(following)
	if err != nil {
		return nil, err
	}
	// What follows moves up behind the dash, unless comments of its own stand between.
	if len(bytes.TrimSpace(t.data[t.next(to):next])) == 0 {
		return []replacement{{from, next, ""}}, nil
	}
	for from > 0 && t.data[from-1] == ' ' {
		from--
	}
	return []replacement{{from, t.lineEnd(to), ""}}, nil
}

// wholeLines takes out the lines of an entry, with the comments that speak of it.
func (t *text) wholeLines(at *position, from, to int) (replacement, error) {
	if !t.restIsEmpty(to) || !t.isFirst(from) {
		return replacement{}, ErrForm
	}
	above, err := t.commentsAbove(at, from)
	if err != nil {
		return replacement{}, err
	}
	c := replacement{from: above, to: t.next(to)}
	if t.isBlank(t.line(above)-1) && t.isBlank(t.line(c.to)) && c.to < len(t.data) {
		c.to = t.next(c.to) // it was a paragraph of its own
	}
	if c.to == len(t.data) && c.from > 0 && t.lineEnd(to) == len(t.data) {
		c.from = t.lineEnd(c.from - 1) // a file without a break at its end stays one
	}
	return c, nil
}

// isBlank reports whether a line has nothing in it.
func (t *text) isBlank(line int) bool {
	return line >= 0 && line < len(t.lines) && t.lines[line] < len(t.data) && breakAt(t.data, t.blanks(t.lines[line])) > 0
}

// commentsAbove is where the comments begin that stand right above an entry and speak of it: of a key, those that name it, or behind
// which nothing else stands that they could mean; of an item, all, unless they may be meant for the whole list.
func (t *text) commentsAbove(at *position, from int) (int, error) {
	floor := 0
	if at.index > 0 {
		prev, err := t.child(at.up, at.index-1)
		if err == nil {
			floor, err = t.to(prev)
		}
		if err != nil {
			return 0, err
		}
	}
	start := t.lineStart(from)
	above := start
	for i := t.line(from) - 1; i >= 0 && t.lines[i] >= floor && t.isComment(i, t.column(from)); i-- {
		above = t.lines[i]
	}
	if above == start {
		return start, nil
	}
	about := strings.ToLower(string(t.data[above:start]))
	switch {
	case at.key != nil && strings.Contains(about, strings.TrimSuffix(strings.ToLower(at.key.Value), "s")):
		return above, nil
	case at.key == nil && at.index > 0:
		return above, nil
	case t.endsParagraph(at, from):
		return above, nil
	}
	return start, nil
}

// isComment reports whether a line is a comment that begins at a column.
func (t *text) isComment(line, column int) bool {
	at := t.blanks(t.lines[line])
	return at < len(t.data) && t.data[at] == '#' && t.column(at) == column
}

// endsParagraph reports whether what follows an entry is an empty line, a comment, or something further out.
func (t *text) endsParagraph(at *position, from int) bool {
	to, err := t.to(at)
	if err != nil {
		return false
	}
	next := t.next(to)
	first := t.blanks(next)
	return first >= len(t.data) || breakAt(t.data, first) > 0 || t.data[first] == '#' || t.column(first) < t.column(from)
}

// removeFlow takes out an entry that is not the only one between brackets.
func (t *text) removeFlow(at *position) ([]replacement, error) {
	from, to, err := t.span(at)
	if err != nil {
		return nil, err
	}
	comma := t.space(to)
	hasComma := comma < len(t.data) && t.data[comma] == ','
	if hasComma && t.isFirst(from) && t.restIsEmpty(comma+1) {
		return []replacement{{t.lineStart(from), t.next(comma), ""}}, nil
	}
	if at.index+1 < at.up.size() {
		if !hasComma {
			return nil, ErrForm
		}
		end := comma + 1
		if next := t.blanks(end); t.lineEnd(end) != next {
			end = next
		}
		return []replacement{{from, end, ""}}, nil
	}
	if hasComma {
		return []replacement{{from, comma + 1, ""}}, nil
	}
	return t.removeLast(at, from, to)
}

// removeLast takes out the last entry between brackets, which no comma follows, with the comma before it.
func (t *text) removeLast(at *position, from, to int) ([]replacement, error) {
	prev, err := t.child(at.up, at.index-1)
	if err != nil {
		return nil, err
	}
	before, err := t.to(prev)
	if err != nil {
		return nil, err
	}
	if len(bytes.Trim(t.data[before:from], " \t\r\n,")) == 0 {
		return []replacement{{before, to, ""}}, nil
	}
	sep := t.space(before) // a comment stands between: it stays
	if t.isFirst(from) && t.restIsEmpty(to) {
		return []replacement{{sep, sep + 1, ""}, {t.lineStart(from), t.next(to), ""}}, nil
	}
	return []replacement{{sep, sep + 1, ""}, {from, to, ""}}, nil
}
