package plain

import (
	"errors"
	"regexp"
	"strings"
)

// compileGlob compiles a pattern as Argo CD reads it (gobwas/glob without separators): "*" and "**" match any characters, slashes
// too, "?" one, "[…]" a class, "{a,b}" alternatives, a backslash quotes. An empty pattern gives nil.
func compileGlob(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	var b strings.Builder
	depth := 0
	quoted := false
	b.WriteString(`(?s)^`)
	for _, r := range pattern {
		switch {
		case quoted:
			quoted = false
			b.WriteString(regexp.QuoteMeta(string(r)))
		case r == '\\':
			quoted = true
		case r == '*':
			b.WriteString(`.*`)
		case r == '?':
			b.WriteByte('.')
		case r == '{':
			depth++
			b.WriteString(`(?:`)
		case r == '}' && depth > 0:
			depth--
			b.WriteByte(')')
		case r == ',' && depth > 0:
			b.WriteByte('|')
		case r == '[' || r == ']':
			b.WriteRune(r)
		case r == '!':
			if strings.HasSuffix(b.String(), "[") {
				b.WriteByte('^')
			} else {
				b.WriteByte('!')
			}
		case r == '-':
			b.WriteByte('-')
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	if depth > 0 || quoted {
		return nil, errors.New("pattern " + pattern + " is not closed")
	}
	b.WriteByte('$')
	return regexp.Compile(b.String())
}
