package ownership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ParseShape reads fieldsV1 as JSON text. It is the way back from Shape.JSON, and quick on it.
func ParseShape(fieldsV1 []byte) (Shape, error) {
	text := strings.TrimSpace(string(fieldsV1))
	if text == "" {
		return Shape{}, nil
	}
	s := scanner{text: text}
	root, _, err := s.object(0)
	if err == nil && strings.TrimSpace(s.text[s.at:]) != "" {
		err = errors.New("there is more behind the end")
	}
	if err != nil {
		return Shape{}, fmt.Errorf("parse fieldsV1: at byte %d: %w", s.at, err)
	}
	return Shape{root: root}, nil
}

// maxDepth is deeper than any schema, and keeps a bad text from using up the stack.
const maxDepth = 1000

// scanner reads JSON that has nothing in it but objects.
type scanner struct {
	text string
	at   int
}

func (s *scanner) object(depth int) (children []node, self bool, err error) {
	if depth > maxDepth {
		return nil, false, errors.New("nested too deeply")
	}
	if !s.take('{') {
		return nil, false, errors.New("want {")
	}
	if s.take('}') {
		return nil, false, nil
	}
	for {
		n, err := s.member(depth)
		if err != nil {
			return nil, false, err
		}
		if n.text == "." {
			self = true
		} else {
			children = append(children, n)
		}
		if s.take('}') {
			break
		}
		if !s.take(',') {
			return nil, false, errors.New("want , or }")
		}
	}
	return inOrder(children), self, nil
}

func (s *scanner) member(depth int) (node, error) {
	key, err := s.key()
	if err != nil {
		return node{}, err
	}
	if !s.take(':') {
		return node{}, errors.New("want a colon")
	}
	n := node{text: key}
	if n.children, n.self, err = s.object(depth + 1); err != nil || key == "." {
		return n, err
	}
	return n, n.decode()
}

// key reads a JSON string.
func (s *scanner) key() (string, error) {
	if !s.take('"') {
		return "", errors.New(`want "`)
	}
	begin := s.at
	for ; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	if s.at >= len(s.text) {
		return "", errors.New("a name has no end")
	}
	s.at++
	return unquoted(s.text[begin : s.at-1])
}

// take steps over white space and over c, if that is next.
func (s *scanner) take(c byte) bool {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// inOrder sorts nodes as their texts are; Shape.JSON prints them so. Of two with one text the first counts.
func inOrder(list []node) []node {
	byText := func(a, b node) int { return strings.Compare(a.text, b.text) }
	if !slices.IsSortedFunc(list, byText) {
		slices.SortStableFunc(list, byText)
	}
	return slices.CompactFunc(list, func(a, b node) bool { return a.text == b.text })
}
