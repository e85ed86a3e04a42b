package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is a parsed file.
type text struct {
	mark  []byte // the byte order mark, if there is one
	data  []byte // without the mark
	lines []int  // where each line begins
	eol   string
	json  bool
	docs  []*yaml.Node // the top of each document; an empty document has a null
	grown []*tree
	style style
}

// replacement is a replacement of bytes.
type replacement struct {
	from, to int
	with     string
}

var byteOrderMark = []byte("\uFEFF")

func parseText(name string, data []byte) (*text, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	t := &text{data: data, json: strings.EqualFold(path.Ext(name), ".json"), eol: "\n"}
	if rest, ok := bytes.CutPrefix(data, byteOrderMark); ok {
		t.mark, t.data = data[:len(byteOrderMark)], rest
	}
	if i := bytes.IndexByte(t.data, '\n'); i > 0 && t.data[i-1] == '\r' {
		t.eol = "\r\n"
	}
	t.lines = lineStarts(t.data)
	yml := t.data
	if t.json {
		yml = jsonToYAML(t.data)
	}
	g := treeBuilder{}
	for d := yaml.NewDecoder(bytes.NewReader(yml)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New(quoted.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "…"))
		}
		if len(doc.Content) == 0 {
			continue
		}
		grown, err := g.grow(doc.Content[0], 0)
		if err != nil {
			return nil, err
		}
		t.docs, t.grown = append(t.docs, doc.Content[0]), append(t.grown, grown)
	}
	t.style = styleOf(t.docs)
	t.style.open = t.lineStart(len(t.data)) < len(t.data)
	return t, nil
}

// quoted is what the parser quotes of a file: it may be a secret.
var quoted = regexp.MustCompile("`[^`]*`|'[^']*'|\"[^\"]*\"")

// jsonToYAML makes YAML of what is JSON but not YAML, byte for byte: tabs between values, the escape "\/", and characters written as two
// halves. Texts with the latter two are not those of the file, but the same ones each time.
func jsonToYAML(data []byte) []byte {
	out := bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '})
	return escapes.ReplaceAllFunc(out, func(escape []byte) []byte {
		var high, low rune
		if string(escape) == `\/` {
			return []byte("//")
		}
		if _, err := fmt.Sscanf(string(escape), `\u%04x\u%04x`, &high, &low); err != nil {
			return escape
		}
		return fmt.Appendf(nil, `\U%08x  `, utf16.DecodeRune(high, low))
	})
}

var escapes = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// lineStarts cuts lines as the parser counts them: a line ends with CR, LF, both, or one of Unicode's three (YAML 1.1 §4.1.4).
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i := 0; i < len(data); {
		n := breakAt(data, i)
		if n == 0 {
			i++
			continue
		}
		i += n
		starts = append(starts, i)
	}
	return starts
}

// breakAt returns the length of the line break that stands at i, 0 for none.
func breakAt(data []byte, i int) int {
	for _, b := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if i < len(data) && bytes.HasPrefix(data[i:], []byte(b)) {
			return len(b)
		}
	}
	return 0
}

func (t *text) trees() []*tree { return t.grown }

// document returns the top of a document; empty ones do not count.
func (t *text) document(i int) (*yaml.Node, error) {
	for _, d := range t.docs {
		if d.ShortTag() == nullTag {
			continue
		}
		if i == 0 {
			return d, nil
		}
		i--
	}
	return nil, fmt.Errorf("%w: no such document", ErrAbsent)
}

// offset is where a node begins: at its anchor or tag, if it has one.
func (t *text) offset(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(t.lines) {
		return 0, ErrForm
	}
	at := t.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(t.data) {
			return 0, ErrForm
		}
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at, nil
}

// line is the number of the line, from 0, that a byte is in.
func (t *text) line(at int) int {
	i, found := slices.BinarySearch(t.lines, at)
	if !found {
		i--
	}
	return i
}

func (t *text) lineStart(at int) int { return t.lines[t.line(at)] }

// lineEnd is where the line of a byte ends, before its break; next is where the next line begins.
func (t *text) lineEnd(at int) int {
	next := t.next(at)
	for _, b := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if s, ok := bytes.CutSuffix(t.data[t.lineStart(at):next], []byte(b)); ok && t.line(at)+1 < len(t.lines) {
			return t.lineStart(at) + len(s)
		}
	}
	return next
}

func (t *text) next(at int) int {
	if i := t.line(at) + 1; i < len(t.lines) {
		return t.lines[i]
	}
	return len(t.data)
}

// column counts the spaces and other characters before a byte of its line.
func (t *text) column(at int) int { return utf8.RuneCount(t.data[t.lineStart(at):at]) }

// blanks skips spaces and tabs.
func (t *text) blanks(at int) int {
	for at < len(t.data) && (t.data[at] == ' ' || t.data[at] == '\t') {
		at++
	}
	return at
}

// space skips spaces, tabs, line breaks and comments.
func (t *text) space(at int) int {
	for at < len(t.data) {
		switch n := breakAt(t.data, at); {
		case n > 0:
			at += n
		case t.data[at] == ' ' || t.data[at] == '\t':
			at++
		case t.data[at] == '#' && t.startsComment(at):
			at = t.lineEnd(at)
		default:
			return at
		}
	}
	return at
}

// startsComment reports whether a # stands where a comment may: at the start of a line, or behind a space or a bracket.
func (t *text) startsComment(at int) bool {
	return at == t.lineStart(at) || strings.IndexByte(" \t[]{},", t.data[at-1]) >= 0
}

// restIsEmpty reports whether nothing but a comment follows in the line.
func (t *text) restIsEmpty(at int) bool { return t.space(at) >= t.lineEnd(at) }

// isFirst reports whether nothing but spaces stands before it in its line.
func (t *text) isFirst(at int) bool {
	return len(bytes.TrimLeft(t.data[t.lineStart(at):at], " \t")) == 0
}

// cut makes the replacements, which must not overlap.
func (t *text) cut(cuts []replacement) []byte {
	slices.SortStableFunc(cuts, func(a, b replacement) int { return a.from - b.from })
	out := slices.Clone(t.mark)
	at := 0
	for _, c := range cuts {
		if c.from < at {
			continue // the tree decides
		}
		out = append(append(out, t.data[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, t.data[at:]...)
}
