package plain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// yaml reads documents of YAML, and of those with a list of items in block form, as kubectl prints it, one item at a time.
func (e each) yaml(in *bufio.Reader) error {
	r := &yamlReader{each: e, list: listing{each: e, head: object.Object{}}}
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", e.name, err)
		}
		if failed := r.line(line); failed != nil {
			return failed
		}
		if err != nil {
			return r.document()
		}
	}
}

// readLine reads a line with its end, or the beginning of one that is longer than any object.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) && len(long) <= pieceBytes {
		line, err = in.ReadSlice('\n')
		long = append(long, line...)
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return long, err
}

// yamlReader takes a stream of YAML apart by its lines.
type yamlReader struct {
	each  each
	list  listing
	lines int // that were read

	piece  []byte // of a document or an item
	begin  int    // lines before it
	items  bool   // among the items of a list
	isList bool   // the document has items
	indent int    // of the dashes of the items; -1 until the first
}

func (r *yamlReader) line(line []byte) error {
	text := string(bytes.TrimRight(line, "\r\n"))
	var err error
	switch {
	case isSeparator(text):
		err = r.document()
		line = nil
	case text == "items:" && !r.isList:
		err = r.header()
		r.items, r.isList, r.indent = true, true, -1
		line = nil
	case r.items && r.isItem(text):
		err = r.item()
		line = append([]byte(strings.Repeat(" ", r.indent+1)), line[r.indent+1:]...)
	case r.items && r.endsItems(text):
		err = r.item()
		r.items = false
	}
	if len(r.piece) == 0 {
		r.begin = r.lines
	}
	r.lines++
	r.piece = append(r.piece, line...)
	if err == nil && len(r.piece) > pieceBytes {
		err = &render.Error{File: r.each.name, Line: r.begin + 1, Err: fmt.Errorf("an object of more than %d MiB: %w", pieceBytes>>20, render.ErrLimit)}
	}
	return err
}

func isSeparator(line string) bool {
	return line == "---" || strings.HasPrefix(line, "--- ") || line == "..."
}

// isItem reports whether the line begins an item: all dashes of a list stand in one column, and nothing inside an item does.
func (r *yamlReader) isItem(line string) bool {
	rest := strings.TrimLeft(line, " ")
	if rest != "-" && !strings.HasPrefix(rest, "- ") {
		return false
	}
	if r.indent < 0 {
		r.indent = len(line) - len(rest)
	}
	return r.indent == len(line)-len(rest)
}

// endsItems reports whether the line is another field of the list.
func (r *yamlReader) endsItems(line string) bool {
	return line != "" && !strings.ContainsAny(line[:1], " #-\t")
}

// header takes what was read of the list so far.
func (r *yamlReader) header() error {
	text := r.piece
	r.piece = nil
	nodes, err := render.ParseNodes(r.each.name, text)
	if err != nil {
		return err // the document has other errors than its head
	}
	for _, n := range nodes {
		for _, key := range []string{"kind", "apiVersion"} {
			if v := render.FieldNode(n, key); v != nil {
				r.list.head[key] = v.Value
			}
		}
	}
	return nil
}

func (r *yamlReader) item() error {
	p := pending{r.piece, r.begin}
	r.piece = nil
	if len(bytes.TrimSpace(p.text)) == 0 {
		return nil
	}
	return r.list.item(p)
}

// document ends a document.
func (r *yamlReader) document() error {
	var err error
	switch {
	case r.items:
		err = r.item()
	case r.isList:
		err = r.header()
	default:
		err = r.each.piece(r.piece, r.begin, nil)
	}
	if err == nil && r.isList {
		err = r.list.end()
	}
	*r = yamlReader{each: r.each, list: listing{each: r.each, head: object.Object{}}, lines: r.lines}
	return err
}
