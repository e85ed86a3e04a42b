package render

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// jsonAsYAML rewrites what is JSON but not YAML, keeping the lines: tabs between values, the escape "\/", and characters
// escaped as surrogate pairs. A raw tab cannot stand inside a JSON string.
func jsonAsYAML(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\t':
			out = append(out, ' ')
		case data[i] != '\\' || i+1 == len(data):
			out = append(out, data[i])
		case data[i+1] == '/':
			out = append(out, '/')
			i++
		default:
			if r, ok := surrogatePair(data[i:]); ok {
				out = append(out, string(r)...)
				i += 11
				continue
			}
			out = append(out, data[i], data[i+1])
			i++
		}
	}
	return out
}

// surrogatePair decodes a surrogate pair such as \ud83d\ude00 at the start of b.
func surrogatePair(b []byte) (rune, bool) {
	if len(b) < 12 || !bytes.HasPrefix(b, []byte(`\u`)) || !bytes.HasPrefix(b[6:], []byte(`\u`)) {
		return 0, false
	}
	high, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0, false
	}
	low, err := strconv.ParseUint(string(b[8:12]), 16, 16)
	if err != nil {
		return 0, false
	}
	r := utf16.DecodeRune(rune(high), rune(low))
	return r, r != '\uFFFD'
}
