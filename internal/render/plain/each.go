package plain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// whole is how much of a stream is read before it is taken apart: what is shorter is read as a file is.
const whole = 8 << 20

// pieceBytes bounds a document of a stream, and an item of a List: far more than an API server holds of one object.
const pieceBytes = 16 << 20

// EachObject decodes the objects of a stream of any length, one after the other, as kubectl does those of a file. Of what is longer than 8 MiB it
// reads a document at a time, and of the lists that kubectl and the API server print an item. A document or item of more than 16 MiB is an
// error that wraps render.ErrLimit. An error of use ends it.
func EachObject(name string, in io.Reader, use func(render.Object) error) error {
	begin, err := io.ReadAll(io.LimitReader(in, whole))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	e := each{name: name, use: use}
	switch {
	case len(begin) < whole:
		return e.piece(begin, 0, nil)
	case bytes.HasPrefix(begin, []byte{0xFF, 0xFE}), bytes.HasPrefix(begin, []byte{0xFE, 0xFF}):
		return &render.Error{File: name, Err: fmt.Errorf("UTF-16 of more than %d MiB: %w", whole>>20, render.ErrLimit)}
	}
	rest := io.MultiReader(bytes.NewReader(begin), in)
	if beginsJSON(begin) {
		return e.json(rest)
	}
	return e.yaml(bufio.NewReaderSize(rest, 1<<20))
}

// each is one run of Each.
type each struct {
	name string
	use  func(render.Object) error
}

// piece decodes a part of the stream that begins after so many lines. The list says the type of its items; nil for a document.
func (e each) piece(data []byte, lines int, list object.Object) error {
	nodes, err := render.ParseNodes(e.name, data)
	var at *render.Error
	if errors.As(err, &at) && at.Line > 0 {
		at.Line += lines
	}
	if err != nil {
		return err
	}
	for _, n := range nodes {
		shiftLines(n, lines)
		asKubectl(n)
		if list != nil {
			n = singleItemList(list, n)
		}
		found, err := render.Document(e.name, n)
		if err != nil {
			return err
		}
		for _, o := range found {
			if err := e.use(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// shiftLines moves what was parsed by itself to its lines in the file.
func shiftLines(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shiftLines(c, lines)
	}
}

// singleItemList is a list of one item.
func singleItemList(list object.Object, item *yaml.Node) *yaml.Node {
	text := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: item.Line}
	}
	kind := list.GVK().Kind
	if !strings.HasSuffix(kind, "List") {
		kind = "List"
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: item.Line, Content: []*yaml.Node{
		text("apiVersion"), text(list.APIVersion()), text("kind"), text(kind),
		text("items"), {Kind: yaml.SequenceNode, Tag: "!!seq", Line: item.Line, Content: []*yaml.Node{item}},
	}}
}

// pending is an item that is read before the type of its list is known.
type pending struct {
	text []byte
	line int
}

// isTyped reports whether the item names its type, so that it need not wait for its list's.
func isTyped(text []byte) bool {
	return bytes.Contains(text, []byte("kind")) && bytes.Contains(text, []byte("apiVersion"))
}

// listing is a list that is being read.
type listing struct {
	each  each
	head  object.Object
	waits []pending
	size  int
}

// item decodes an item, or keeps it until the type of the list is known.
func (l *listing) item(p pending) error {
	if isTyped(p.text) || l.head.APIVersion() != "" && l.head.GVK().Kind != "" {
		return l.each.piece(p.text, p.line, l.head)
	}
	l.waits = append(l.waits, p)
	if l.size += len(p.text); l.size > pieceBytes {
		return &render.Error{File: l.each.name, Line: p.line + 1, Err: fmt.Errorf("a list whose items name no type, before its own: %w", render.ErrLimit)}
	}
	return nil
}

func (l *listing) end() error {
	for _, p := range l.waits {
		if err := l.each.piece(p.text, p.line, l.head); err != nil {
			return err
		}
	}
	return nil
}

// beginsJSON reports whether the text begins as a JSON object does.
func beginsJSON(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// json reads JSON values, and of those that have items one item at a time.
func (e each) json(in io.Reader) error {
	lines := &lineCounter{in: in}
	d := json.NewDecoder(lines)
	for {
		switch err := e.jsonValue(d, lines); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return e.jsonError(err, d, lines)
		}
	}
}

func (e each) jsonError(err error, d *json.Decoder, lines *lineCounter) error {
	var at *render.Error
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &render.Error{File: e.name, Line: lines.before(d.InputOffset()) + 1, Err: errors.New("it is no JSON from here on")}
	}
	if errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("read %s: %w", e.name, err)
}

func (e each) jsonValue(d *json.Decoder, lines *lineCounter) error {
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return &render.Error{File: e.name, Line: lines.before(d.InputOffset()) + 1, Err: errors.New("not a Kubernetes object: no map")}
	}
	v := jsonObject{list: listing{each: e, head: object.Object{}}, rest: map[string]json.RawMessage{}}
	first := lines.before(d.InputOffset())
	for d.More() {
		if err := v.field(d, lines); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if v.isList {
		return v.list.end()
	}
	text, err := json.Marshal(v.rest)
	if err != nil {
		return err
	}
	return e.piece(text, first, nil)
}

// jsonObject is a JSON object that is being read: a list, or what else it has.
type jsonObject struct {
	list   listing
	rest   map[string]json.RawMessage
	isList bool
}

func (v *jsonObject) field(d *json.Decoder, lines *lineCounter) error {
	key, err := d.Token()
	if err != nil {
		return err
	}
	name, _ := key.(string)
	if name == "items" {
		v.isList = true
		return v.list.jsonItems(d, lines)
	}
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	v.rest[name] = raw
	var text string
	if (name == "kind" || name == "apiVersion") && json.Unmarshal(raw, &text) == nil {
		v.list.head[name] = text
	}
	return nil
}

func (l *listing) jsonItems(d *json.Decoder, lines *lineCounter) error {
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return &render.Error{File: l.each.name, Line: lines.before(d.InputOffset()) + 1, Err: errors.New("items is not a list")}
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		line := lines.before(d.InputOffset() - int64(len(raw)))
		if len(raw) > pieceBytes {
			return &render.Error{File: l.each.name, Line: line + 1, Err: fmt.Errorf("an item of more than %d MiB: %w", pieceBytes>>20, render.ErrLimit)}
		}
		if err := l.item(pending{raw, line}); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// lineCounter knows how many lines come before a place of the stream, if it is asked from front to back.
type lineCounter struct {
	in    io.Reader
	read  int64
	ends  []int64 // of the lines that were not asked for yet
	lines int
}

// Read implements io.Reader.
func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

func (c *lineCounter) before(offset int64) int {
	for len(c.ends) > 0 && c.ends[0] < offset {
		c.ends = c.ends[1:]
		c.lines++
	}
	return c.lines
}
