package yamledit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The parser gives where a node begins, and not where it ends.

// begin is where a node begins behind its anchor and its tag.
func (t *text) begin(n *yaml.Node) (int, error) {
	at, err := t.offset(n)
	if err != nil || n.Kind == yaml.AliasNode || n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		return at, err
	}
	end := at
	for at < len(t.data) && (t.data[at] == '&' || t.data[at] == '!') {
		end = at
		for end < len(t.data) && breakAt(t.data, end) == 0 && strings.IndexByte(" \t,[]{}", t.data[end]) < 0 {
			end++
		}
		at = t.space(end)
	}
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0 {
		return end, nil // nothing follows that is its own
	}
	return at, nil
}

// end is where a node ends: behind its last character, without the line break. The indent is the column of the block that it is in, -1
// for none.
func (t *text) end(n *yaml.Node, indent int) (int, error) {
	at, err := t.begin(n)
	if err != nil {
		return 0, err
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return t.expect(at, "*"+n.Value)
	case n.Kind == yaml.ScalarNode:
		return t.scalarEnd(n, at, indent)
	case n.Style&yaml.FlowStyle != 0:
		return t.flowEnd(n, at)
	case len(n.Content) == 0:
		return 0, ErrForm
	}
	return t.end(n.Content[len(n.Content)-1], t.column(at))
}

func (t *text) expect(at int, s string) (int, error) {
	if !strings.HasPrefix(string(t.data[at:min(at+len(s), len(t.data))]), s) {
		return 0, ErrForm
	}
	return at + len(s), nil
}

func (t *text) scalarEnd(n *yaml.Node, at, indent int) (int, error) {
	switch style := n.Style &^ yaml.TaggedStyle; {
	case style&yaml.DoubleQuotedStyle != 0:
		return t.quotedEnd(at, '"')
	case style&yaml.SingleQuotedStyle != 0:
		return t.quotedEnd(at, '\'')
	case style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		b, err := t.block(at, indent)
		return b.end, err
	}
	return t.plainEnd(n.Value, at)
}

func (t *text) quotedEnd(at int, quote byte) (int, error) {
	if at >= len(t.data) || t.data[at] != quote {
		return 0, ErrForm
	}
	for i := at + 1; i < len(t.data); i++ {
		switch {
		case quote == '"' && t.data[i] == '\\':
			i++
		case t.data[i] == quote && quote == '\'' && i+1 < len(t.data) && t.data[i+1] == quote:
			i++
		case t.data[i] == quote:
			return i + 1, nil
		}
	}
	return 0, ErrForm
}

// plainEnd follows the characters of a plain scalar, which may be folded over several lines.
func (t *text) plainEnd(value string, at int) (int, error) {
	end := at
	for _, r := range value {
		if unicode.IsSpace(r) || r == '\u0085' || r == '\uFEFF' {
			continue
		}
		for at < len(t.data) && (unicode.IsSpace(rune(t.data[at])) || breakAt(t.data, at) > 0) {
			at += max(1, breakAt(t.data, at))
		}
		found, size := utf8.DecodeRune(t.data[at:])
		if found != r {
			return 0, ErrForm
		}
		at += size
		end = at
	}
	return end, nil
}

// flowEnd looks for the bracket behind the last entry. A pair in a list has none ([a: b]).
func (t *text) flowEnd(n *yaml.Node, at int) (int, error) {
	if at >= len(t.data) {
		return 0, ErrForm
	}
	closing := map[byte]byte{'{': '}', '[': ']'}[t.data[at]]
	isPair := n.Kind == yaml.MappingNode && t.data[at] != '{'
	end := at + 1
	if len(n.Content) > 0 {
		last, err := t.end(n.Content[len(n.Content)-1], 0)
		if err != nil || isPair {
			return last, err
		}
		end = last
	}
	for end = t.space(end); end < len(t.data); end = t.space(end + 1) {
		switch t.data[end] {
		case closing:
			return end + 1, nil
		case ',', ':', '?':
			continue
		}
		break
	}
	return 0, ErrForm
}

// block is a literal or folded scalar as it is written.
type block struct {
	header   int // where | or > stands
	first    int // the number of the first line behind the header
	count    int // how many lines belong to it
	indent   int // the spaces before its text
	end      int
	explicit bool // the header names the indent
	keep     bool // the header keeps the line breaks at the end
}

// read takes in the indicators of a header.
func (b *block) read(head string, indent int) {
	for _, c := range head {
		switch {
		case c >= '1' && c <= '9':
			b.explicit, b.indent = true, max(indent, 0)+int(c-'0')
		case c == '+':
			b.keep = true
		}
	}
}

// block reads a block scalar (YAML 1.1 §9.3, and as libyaml does).
func (t *text) block(at, indent int) (block, error) {
	if at >= len(t.data) || t.data[at] != '|' && t.data[at] != '>' {
		return block{}, ErrForm
	}
	b := block{header: at, first: t.line(at) + 1, end: t.lineEnd(at)}
	head, _, _ := strings.Cut(string(t.data[at+1:b.end]), "#")
	b.end = at + 1 + len(strings.TrimRight(head, " \t"))
	b.read(head, indent)
	if !b.explicit {
		b.indent = t.detect(b.first, indent)
	}
	kept := 0
	for i := b.first; i < len(t.lines) && t.lines[i] < len(t.data); i++ {
		line := t.data[t.lines[i]:t.lineEnd(t.lines[i])]
		spaces := len(line) - len(strings.TrimLeft(string(line), " "))
		isBlank := spaces == len(line) && spaces <= b.indent
		if !isBlank && spaces < b.indent {
			break
		}
		kept++
		if !isBlank || b.keep {
			b.count, b.end = kept, t.lineEnd(t.lines[i])
		}
	}
	return b, nil
}

// detect is the indent of a block scalar whose header does not name it: that of its first line, or of an emptier one before it that is longer.
func (t *text) detect(first, indent int) int {
	most := 0
	for i := first; i < len(t.lines); i++ {
		line := t.data[t.lines[i]:t.lineEnd(t.lines[i])]
		spaces := len(line) - len(strings.TrimLeft(string(line), " "))
		most = max(most, spaces)
		if spaces < len(line) {
			break
		}
	}
	return max(most, indent+1, 1)
}
