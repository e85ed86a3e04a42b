// Package glob answers: which texts does a pattern match that Argo CD's users write?
//
// In: a pattern in the syntax of gobwas/glob, and the separator that it is read with.
// Out: a regular expression for it, which takes time in proportion to the text; an error for a pattern that is not closed.
// Promise: pure; no pattern makes it panic.
// Not here: the patterns of .gitignore (source/exclude), of file names in the syntax of Go (path.Match).
package glob

import (
	"errors"
	"regexp"
	"strings"
)

// anything stands for "**" while a pattern is read: it is in no text that people write.
const anything = '\uFFFF'

// Compile compiles a pattern: "*" matches any characters, "?" one, "[…]" a class, "{a,b}" alternatives, a backslash quotes. Where there is
// a separator, "*" and "?" do not match it, and "**" does; 0 is none. An empty pattern gives nil.
func Compile(pattern string, separator rune) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	one := "."
	if separator != 0 {
		one = "[^" + regexp.QuoteMeta(string(separator)) + "]"
	}
	var b strings.Builder
	depth := 0
	quoted := false
	b.WriteString(`(?s)^`)
	for _, r := range strings.ReplaceAll(pattern, "**", string(anything)) {
		switch {
		case quoted:
			quoted = false
			b.WriteString(regexp.QuoteMeta(string(r)))
		case r == '\\':
			quoted = true
		case r == anything:
			b.WriteString(`.*`)
		case r == '*':
			b.WriteString(one + "*")
		case r == '?':
			b.WriteString(one)
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
