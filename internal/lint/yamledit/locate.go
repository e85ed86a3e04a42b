package yamledit

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// position is a node and how it is reached.
type position struct {
	node  *yaml.Node
	key   *yaml.Node // nil for an item and for the top
	index int        // which entry of up it is
	up    *position  // nil for the top
	// indent is the column of the innermost block around it, -1 for none; inFlow says that it is in a flow collection.
	indent int
	inFlow bool
}

// locate follows a path, and refuses to go where something is shared.
func (t *text) locate(top *yaml.Node, p Path) (*position, error) {
	shared := map[*yaml.Node]bool{}
	aliased(top, shared)
	at := &position{node: top, indent: -1}
	for i := range p {
		next, err := t.step(at, p[i])
		if err != nil {
			return nil, errorWithin(p, i, err)
		}
		at = next
		if at.node.Kind == yaml.AliasNode && i+1 < len(p) || shared[at.node] {
			return nil, errorWithin(p, i, ErrShared)
		}
	}
	if shared[top] || at.node.Kind == yaml.AliasNode && at.up == nil {
		return nil, ErrShared
	}
	return at, nil
}

// errorWithin says at which step of a path it is, where that is not the last.
func errorWithin(p Path, i int, err error) error {
	if i+1 == len(p) {
		return err
	}
	return fmt.Errorf("%s: %w", p[:i+1], err)
}

// aliased collects what aliases stand for.
func aliased(n *yaml.Node, into map[*yaml.Node]bool) {
	if n.Kind == yaml.AliasNode {
		into[n.Alias] = true
		return
	}
	for _, c := range n.Content {
		aliased(c, into)
	}
}

func (t *text) step(at *position, s Step) (*position, error) {
	n := at.node
	next := &position{up: at, indent: at.indent, inFlow: at.inFlow || n.Style&yaml.FlowStyle != 0}
	if !next.inFlow && len(n.Content) > 0 {
		b, err := t.begin(n)
		if err != nil {
			return nil, err
		}
		next.indent = t.column(b)
	}
	if s.index > 0 {
		if n.Kind != yaml.SequenceNode || s.index > len(n.Content) {
			return nil, ErrAbsent
		}
		next.index, next.node = s.index-1, n.Content[s.index-1]
		return next, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, ErrAbsent
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.ScalarNode && k.Value == s.key && k.ShortTag() != "!!merge" {
			next.index, next.key, next.node = i/2, k, n.Content[i+1]
			return next, nil
		}
	}
	if slices.ContainsFunc(n.Content, func(k *yaml.Node) bool { return k.ShortTag() == "!!merge" }) {
		return nil, ErrShared // where else could it come from
	}
	return nil, ErrAbsent
}

// size counts the entries of a map or a list.
func (s *position) size() int {
	if s.node.Kind == yaml.MappingNode {
		return len(s.node.Content) / 2
	}
	return len(s.node.Content)
}

// child is the entry of a map or a list at a position.
func (t *text) child(s *position, i int) (*position, error) {
	n := s.node
	c := &position{up: s, index: i, indent: s.indent, inFlow: s.inFlow || n.Style&yaml.FlowStyle != 0}
	if n.Kind == yaml.MappingNode {
		c.key, c.node = n.Content[2*i], n.Content[2*i+1]
	} else {
		c.node = n.Content[i]
	}
	if c.inFlow {
		return c, nil
	}
	b, err := t.begin(n)
	c.indent = t.column(b)
	return c, err
}

func (s *position) flow() bool { return s.node.Style&yaml.FlowStyle != 0 }

// isBare reports whether a null is written with no character at all.
func (s *position) isBare() bool {
	n := s.node
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// from is where an entry begins: with its key or its dash.
func (t *text) from(s *position) (int, error) {
	if s.key != nil {
		at, err := t.offset(s.key)
		if err == nil && t.isExplicit(at) {
			err = ErrForm
		}
		return at, err
	}
	if s.inFlow {
		return t.offset(s.node)
	}
	return t.dash(s)
}

// isExplicit reports whether a question mark stands before a key.
func (t *text) isExplicit(key int) bool {
	for key > 0 && (t.data[key-1] == ' ' || t.data[key-1] == '\t') {
		key--
	}
	return key > 0 && t.data[key-1] == '?'
}

func (t *text) dash(s *position) (int, error) {
	at, err := t.begin(s.up.node)
	if s.index > 0 {
		var prev *position
		if prev, err = t.child(s.up, s.index-1); err == nil {
			at, err = t.end(prev.node, prev.indent)
			at = t.space(at)
		}
	}
	if err == nil && (at >= len(t.data) || t.data[at] != '-') {
		err = ErrForm
	}
	return at, err
}

// to is where an entry ends.
func (t *text) to(s *position) (int, error) {
	if s.isBare() && s.key != nil {
		return t.introduced(s)
	}
	return t.end(s.node, s.indent)
}

// span is where an entry begins and where it ends.
func (t *text) span(s *position) (from, to int, err error) {
	if from, err = t.from(s); err != nil {
		return 0, 0, err
	}
	to, err = t.to(s)
	return from, to, err
}

// introduced is where a value may begin: behind the colon or the dash, and behind its anchor and its tag. Of a key in a flow map that has no
// colon it is the end of the key, of the top and of an item of a flow list its own begin.
func (t *text) introduced(s *position) (int, error) {
	if n := s.node; n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return t.behindProperties(n)
	}
	if s.key == nil {
		if s.up == nil || s.inFlow {
			return t.offset(s.node)
		}
		at, err := t.dash(s)
		return at + 1, err
	}
	end, err := t.end(s.key, s.indent)
	if err != nil {
		return 0, err
	}
	if at := t.space(end); at < len(t.data) && t.data[at] == ':' {
		return at + 1, nil
	}
	if !s.inFlow {
		return 0, ErrForm
	}
	return end, nil
}

func (t *text) behindProperties(n *yaml.Node) (int, error) {
	if _, err := t.offset(n); err != nil {
		return 0, err
	}
	bare := *n
	bare.Kind, bare.Value, bare.Style = yaml.ScalarNode, "", yaml.TaggedStyle
	bare.Content = nil
	return t.begin(&bare)
}
