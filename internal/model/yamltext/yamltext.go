// Package yamltext answers: which text does a file of manifests hold?
//
// In: the bytes of a file.
// Out: its text as the YAML parser takes it, line for line.
// Promise: pure; UTF-8 without %YAML directives stays as it is; what is no text is an error.
// Not here: what the text describes (render).
package yamltext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"regexp"
	"unicode/utf16"
)

var (
	errBinary = errors.New("not text: it has NUL bytes (save it as UTF-8, or as UTF-16 with a byte order mark)")
	errUTF16  = errors.New("not text: UTF-16 of an odd number of bytes")
)

// ManifestText returns a manifest as the YAML parser takes it, line for line: UTF-8 where a byte order mark says UTF-16, and without %YAML
// directives, of which the parser knows version 1.1 alone. Every reader of manifests begins with it. Binary data is an error.
func ManifestText(data []byte) ([]byte, error) {
	data, err := decodeUTF16(data)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errBinary
	}
	if bytes.Contains(data, []byte("%YAML")) {
		data = yamlVersion.ReplaceAll(data, []byte("#$1"))
	}
	return data, nil
}

// yamlVersion is a directive that names a version of YAML 1. It stands at the beginning of a line, where no text inside an object does.
var yamlVersion = regexp.MustCompile(`(?m)^(?:\x{FEFF})?%(YAML[ \t]+1\.[0-9]+)`)

func decodeUTF16(data []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE, 0, 0}):
		return nil, errBinary // UTF-32
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	default:
		return data, nil
	}
	data = data[2:]
	if len(data)%2 != 0 {
		return nil, errUTF16
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units))), nil
}
