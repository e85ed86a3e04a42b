package sops

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// place is where a document of a YAML file stands.
type place struct{ top *yaml.Node }

// Manifest returns a YAML or JSON file with its values decrypted where they stand, so that each line keeps its number. Documents that ask to stay
// encrypted do. A file in another form than SOPS writes is written as by Bytes.
func (f *File) Manifest(format Format, view View) ([]byte, error) {
	if format == YAML {
		if text, ok := f.inPlace(view); ok {
			return text, nil
		}
		if f.Kept() {
			return nil, errKept
		}
	}
	return f.Bytes(format, view)
}

var errKept = keptError{}

// keptError is the error for a file of which a document must stay encrypted, and cannot.
type keptError struct{}

func (keptError) Error() string {
	return decryptKey + ": disabled stands in a file that SOPS did not write: encrypt the object in a file of its own"
}

func (f *File) inPlace(view View) ([]byte, bool) {
	if strings.ContainsAny(strings.ReplaceAll(string(f.source), "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return nil, false // lines that YAML counts, and no editor
	}
	lines := bytes.SplitAfter(f.source, []byte("\n"))
	for _, d := range f.documents {
		if d.metadata == nil || d.keep {
			continue
		}
		e := lineEditor{lines: lines, view: view}
		if d.place.top.Kind != yaml.MappingNode || d.place.top.Style&yaml.FlowStyle != 0 || !e.block(d.root, d.place.top) || !e.blank(d.place.top) {
			return nil, false
		}
	}
	return bytes.Join(lines, nil), true
}

// lineEditor changes values where they stand.
type lineEditor struct {
	lines [][]byte
	view  View
}

// block changes the values of a mapping or list. It reports false where the file has another form than expected.
func (e lineEditor) block(b *block, n *yaml.Node) bool {
	nodes, values := valueNodes(b, n), 0
	for _, i := range b.items {
		switch {
		case i.comment != nil && !i.comment.element:
			continue
		case len(nodes) == 0, i.comment != nil && !e.dropElement(nodes[0]), i.comment == nil && !e.value(i.value, nodes[0]):
			return false
		case i.comment == nil:
			values++
		}
		nodes = nodes[1:]
	}
	return len(nodes) == 0 && (values > 0 || len(b.items) == 0)
}

// dropElement empties the line of an element that is a comment.
func (e lineEditor) dropElement(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(e.lines) || strings.Trim(string(e.lines[n.Line-1]), "- \r\n") != n.Value {
		return false
	}
	e.lines[n.Line-1] = []byte("\n")
	return true
}

// valueNodes are the nodes of a block's values, without the metadata that was taken out of it.
func valueNodes(b *block, n *yaml.Node) []*yaml.Node {
	if b.list {
		return n.Content
	}
	_, own := b.get(metadataKey)
	var out []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if own || n.Content[i].Value != metadataKey {
			out = append(out, n.Content[i+1])
		}
	}
	return out
}

func (e lineEditor) value(v any, n *yaml.Node) bool {
	switch v := v.(type) {
	case *block:
		kind := yaml.Kind(yaml.MappingNode)
		if v.list {
			kind = yaml.SequenceNode
		}
		return n.Kind == kind && e.block(v, n) // an alias has its values elsewhere, bound to another key
	case *secret:
		text, ok := flowText(v.shown(e.view))
		return ok && n.Kind == yaml.ScalarNode && e.replace(n, text)
	}
	return true
}

// replace puts a text in the place of an encrypted value and of its quotes.
func (e lineEditor) replace(n *yaml.Node, text string) bool {
	if n.Line < 1 || n.Line > len(e.lines) {
		return false
	}
	line := e.lines[n.Line-1]
	from := bytes.LastIndex(line, []byte(n.Value))
	if from < 0 || bytes.Count(line, []byte(n.Value)) != 1 || n.Anchor != "" {
		return false
	}
	to := from + len(n.Value)
	if from > 0 && to < len(line) && (line[from-1] == '"' || line[from-1] == '\'') && line[to] == line[from-1] {
		from, to = from-1, to+1
	}
	e.lines[n.Line-1] = bytes.Join([][]byte{line[:from], []byte(text), line[to:]}, nil)
	return true
}

// blank empties the lines of the metadata.
func (e lineEditor) blank(top *yaml.Node) bool {
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		if key.Value != metadataKey {
			continue
		}
		if key.Column != 1 || top.Content[i+1].Kind != yaml.MappingNode {
			return false
		}
		e.lines[key.Line-1] = []byte("\n")
		for n := key.Line; n < len(e.lines) && isBelow(e.lines[n]); n++ {
			e.lines[n] = []byte("\n")
		}
	}
	return true
}

// isBelow reports whether a line belongs to the entry of the outermost mapping before it.
func isBelow(line []byte) bool {
	return len(line) > 0 && (line[0] == ' ' || line[0] == '\n' || line[0] == '\r')
}

// flowText is a value as YAML has it within a line.
func flowText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if !utf8.ValidString(v) || strings.ContainsAny(v, "\u007f\u0085\ufeff") || encoder.Encode(v) != nil {
			return "", false
		}
		return strings.TrimSuffix(out.String(), "\n"), true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	}
	text, err := yaml.Marshal(v)
	line := strings.TrimSuffix(string(text), "\n")
	return line, err == nil && !strings.Contains(line, "\n")
}
