package yamledit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// set puts another value in place of a scalar, in the same form where that can hold it.
func (t *text) set(at *position, v any) ([]replacement, error) {
	n := at.node
	if n.Kind == yaml.AliasNode {
		return nil, ErrShared
	}
	if s, ok := v.(string); ok && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return t.setBlock(at, s)
	}
	written := t.style.scalar(v, form{like: n.Style, json: t.json})
	if at.isBare() || n.Value == "" && n.Style&^yaml.TaggedStyle == 0 {
		in, err := t.introduced(at)
		if err != nil {
			return nil, err
		}
		if at.key != nil && t.data[in-1] != ':' && n.Anchor == "" && n.Style == 0 {
			written = ": " + written
		} else {
			written = " " + written
		}
		return []replacement{{in, in, written}}, nil
	}
	from, err := t.begin(n)
	if err != nil {
		return nil, err
	}
	to, err := t.end(n, at.indent)
	return []replacement{{from, to, written}}, err
}

// setBlock changes the lines of a literal that differ, and leaves the others as they are.
func (t *text) setBlock(at *position, v string) ([]replacement, error) {
	from, err := t.begin(at.node)
	if err != nil {
		return nil, err
	}
	b, err := t.block(from, at.indent)
	body := strings.TrimRight(v, "\n")
	if err != nil || at.node.Style&yaml.FoldedStyle != 0 || body == "" || b.count == 0 || !b.explicit && strings.HasPrefix(body, " ") {
		return nil, ErrForm
	}
	breaks := len(v) - len(body)
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = strings.Repeat(" ", b.indent) + l
		}
	}
	if b.keep {
		for range breaks - 1 {
			lines = append(lines, "")
		}
	}
	cuts := t.changed(b, lines, breaks > 0)
	if had := len(at.node.Value) - len(strings.TrimRight(at.node.Value, "\n")); had != breaks {
		cuts = append(cuts, t.chomp(b, breaks))
	}
	return cuts, nil
}

// changed replaces the lines of a block between those that are equal at its start and at its end; breaks says that the last one must end
// with a line break, also at the end of the file.
func (t *text) changed(b block, lines []string, breaks bool) []replacement {
	had := make([]string, b.count)
	for i := range had {
		at := t.lines[b.first+i]
		had[i] = strings.TrimRight(string(t.data[at:t.lineEnd(at)]), "\r")
		if len(had[i]) <= b.indent && strings.TrimSpace(had[i]) == "" {
			had[i] = ""
		}
	}
	front, back := 0, 0
	for front < min(len(had), len(lines)) && had[front] == lines[front] {
		front++
	}
	for back < min(len(had), len(lines))-front && had[len(had)-1-back] == lines[len(lines)-1-back] {
		back++
	}
	var with strings.Builder
	for _, l := range lines[front : len(lines)-back] {
		with.WriteString(l + t.eol)
	}
	c := replacement{from: len(t.data), to: len(t.data), with: with.String()}
	if i := b.first + front; i < len(t.lines) {
		c.from = t.lines[i]
	}
	if i := b.first + b.count - back; i < len(t.lines) {
		c.to = t.lines[i]
	} else if !breaks {
		c.with = strings.TrimSuffix(c.with, t.eol)
	}
	if c.with == "" && c.to == len(t.data) && c.from > 0 && c.from < c.to && !bytes.HasSuffix(t.data, []byte("\n")) {
		c.from = t.lineEnd(c.from - 1)
	}
	return []replacement{c}
}

// chomp writes the header so that the text ends with as many line breaks (YAML 1.1 §9.2.4).
func (t *text) chomp(b block, breaks int) replacement {
	end := b.header + 1
	head := ""
	for ; end < len(t.data) && strings.IndexByte("+-123456789", t.data[end]) >= 0; end++ {
		if t.data[end] != '+' && t.data[end] != '-' {
			head += string(t.data[end])
		}
	}
	switch breaks {
	case 0:
		head += "-"
	case 1:
	default:
		head += "+"
	}
	return replacement{b.header + 1, end, head}
}
