package ignore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// How the regular expressions begin, by what they were made of.
const (
	patternOpen = "^(?:"
	globOpen    = "^(?s:"
)

// Pattern compiles an anchored regular expression, as Flux's selectors are. An empty text matches everything and gives nil.
func Pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(patternOpen + text + ")$")
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	return re, nil
}

// ExactPattern matches this text and no other, as Argo CD's name and namespace do. An empty text matches everything and gives nil.
func ExactPattern(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	return regexp.MustCompile(globOpen + regexp.QuoteMeta(text) + ")$")
}

// GlobPattern compiles a shell pattern as Argo CD's group and kind are: * ? [a-z] [!a-z] {a,b} and \ before any of them. An empty text
// matches the empty text alone: the core group.
func GlobPattern(text string) (*regexp.Regexp, error) {
	g := glob{rest: text}
	if err := g.terms(); err != nil {
		return nil, fmt.Errorf("glob %q: %w", text, err)
	}
	re, err := regexp.Compile(globOpen + g.out.String() + ")$")
	if err != nil {
		return nil, fmt.Errorf("glob %q: want a set of characters such as [a-z] or [!a-z]", text)
	}
	return re, nil
}

// glob is a shell pattern on its way to a regular expression.
type glob struct {
	rest  string
	out   strings.Builder
	depth int // of braces
}

var errOpen = errors.New("a [ or { is never closed, or a } never opened")

func (g *glob) terms() error {
	for g.rest != "" {
		c := g.rest[0]
		g.rest = g.rest[1:]
		if err := g.term(c); err != nil {
			return err
		}
	}
	if g.depth != 0 {
		return errOpen
	}
	return nil
}

func (g *glob) term(c byte) error {
	switch {
	case c == '*':
		g.out.WriteString(".*")
	case c == '?':
		g.out.WriteByte('.')
	case c == '[':
		return g.set()
	case c == '{':
		g.depth++
		g.out.WriteString("(?:")
	case c == ',' && g.depth > 0:
		g.out.WriteByte('|')
	case c == '}':
		g.depth--
		g.out.WriteByte(')')
		if g.depth < 0 {
			return errOpen
		}
	case c == '\\' && g.rest == "":
		return errors.New(`nothing stands behind the last \`)
	case c == '\\':
		g.out.WriteString(regexp.QuoteMeta(g.rest[:1]))
		g.rest = g.rest[1:]
	default:
		g.out.WriteString(regexp.QuoteMeta(string([]byte{c})))
	}
	return nil
}

func (g *glob) set() error {
	chars, rest, closed := strings.Cut(g.rest, "]")
	if !closed {
		return errOpen
	}
	g.rest = rest
	g.out.WriteByte('[')
	if not, ok := strings.CutPrefix(chars, "!"); ok {
		g.out.WriteByte('^')
		chars = not
	}
	for _, c := range []byte(chars) {
		if strings.IndexByte(`[]^\&~`, c) >= 0 {
			g.out.WriteByte('\\')
		}
		g.out.WriteByte(c)
	}
	g.out.WriteByte(']')
	return nil
}
