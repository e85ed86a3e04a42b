package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// jsonNodes parses JSON that is no YAML: several values one after the other, or one with tabs or escapes that YAML has not. ok is false for
// what is no JSON either.
func jsonNodes(file string, data []byte) (nodes []*yaml.Node, ok bool, err error) {
	if !beginsJSON(data) {
		return nil, false, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for line, begin := 0, int64(0); ; {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nodes, true, nil
		}
		if err != nil {
			return nil, false, nil
		}
		start := d.InputOffset() - int64(len(raw))
		line += bytes.Count(data[begin:start], []byte("\n"))
		begin = start
		found, err := yamlNodes(file, jsonAsYAML(raw))
		if err != nil {
			return nil, true, shiftError(err, line)
		}
		column := int(start) - bytes.LastIndexByte(data[:start], '\n') - 1
		for _, n := range found {
			shiftPosition(n, line, column)
		}
		nodes = append(nodes, found...)
	}
}

// beginsJSON reports whether the text begins as a JSON object does.
func beginsJSON(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\uFEFF")), " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// shiftPosition moves a node that was parsed by itself to its place in the file.
func shiftPosition(n *yaml.Node, lines, columns int) {
	if n.Line == 1 {
		n.Column += columns
	}
	n.Line += lines
	for _, c := range n.Content {
		shiftPosition(c, lines, columns)
	}
}

func shiftError(err error, lines int) error {
	var at *Error
	if errors.As(err, &at) && at.Line > 0 {
		at.Line += lines
	}
	return err
}
