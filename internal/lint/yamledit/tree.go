package yamledit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// tree is what a document says, whatever it looks like: aliases are followed and merge keys are merged, maps keep their order.
type tree struct {
	kind yaml.Kind // a scalar, a map or a list
	tag  string    // of a scalar
	text string    // of a scalar
	keys []string  // of a map
	kids []*tree
}

// The bounds of one file.
const (
	maxNodes = 1_000_000
	maxDepth = 1_000
)

var errLimit = errors.New("limit exceeded")

// treeBuilder makes trees of nodes, and counts.
type treeBuilder struct{ nodes int }

func (g *treeBuilder) grow(n *yaml.Node, depth int) (*tree, error) {
	if g.nodes++; g.nodes > maxNodes || depth > maxDepth {
		return nil, fmt.Errorf("line %d: more than %d values, or nested deeper than %d: %w", n.Line, maxNodes, maxDepth, errLimit)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return g.grow(n.Alias, depth+1)
	case yaml.ScalarNode:
		return &tree{kind: n.Kind, tag: n.ShortTag(), text: n.Value}, nil
	case yaml.MappingNode:
		return g.mapping(n, depth)
	case yaml.SequenceNode:
		t := &tree{kind: n.Kind}
		for _, c := range n.Content {
			kid, err := g.grow(c, depth+1)
			if err != nil {
				return nil, err
			}
			t.kids = append(t.kids, kid)
		}
		return t, nil
	default:
		return nil, fmt.Errorf("line %d: unexpected YAML node", n.Line)
	}
}

func (g *treeBuilder) mapping(n *yaml.Node, depth int) (*tree, error) {
	t := &tree{kind: n.Kind}
	set := map[string]bool{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: a key must be a scalar", k.Line)
		case k.ShortTag() == "!!merge":
			merges = append(merges, n.Content[i+1])
			continue
		case set[k.Value]:
			return nil, fmt.Errorf("line %d: a key is set twice", k.Line)
		}
		set[k.Value] = true
		kid, err := g.grow(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		t.keys, t.kids = append(t.keys, k.Value), append(t.kids, kid)
	}
	for _, m := range merges {
		if err := g.merge(t, m, depth+1); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (g *treeBuilder) merge(t *tree, n *yaml.Node, depth int) error {
	from, err := g.grow(n, depth)
	if err != nil {
		return err
	}
	sources := []*tree{from}
	if from.kind == yaml.SequenceNode {
		sources = from.kids
	}
	for _, s := range sources {
		if s.kind != yaml.MappingNode {
			return fmt.Errorf("line %d: a merge key needs a map or a list of maps", n.Line)
		}
		for i, k := range s.keys {
			if !slices.Contains(t.keys, k) {
				t.keys, t.kids = append(t.keys, k), append(t.kids, s.kids[i])
			}
		}
	}
	return nil
}

func sameTrees(a, b []*tree) bool { return slices.EqualFunc(a, b, sameTree) }

func sameTree(a, b *tree) bool {
	return a.kind == b.kind && a.tag == b.tag && a.text == b.text && slices.Equal(a.keys, b.keys) && slices.EqualFunc(a.kids, b.kids, sameTree)
}

// applyToTrees makes the edit on the trees: what the new file must say.
func applyToTrees(all []*tree, e Edit) ([]*tree, error) {
	at := -1
	for i, n := 0, 0; i < len(all); i++ {
		if all[i].tag == nullTag {
			continue
		}
		if n == e.Document {
			at = i
		}
		n++
	}
	if at < 0 {
		return nil, fmt.Errorf("%w: the file has no document %d", ErrAbsent, e.Document)
	}
	top, err := all[at].with(e.Path, e)
	if err != nil {
		return nil, err
	}
	if top == nil {
		top = &tree{kind: all[at].kind}
	}
	out := slices.Clone(all)
	out[at] = top
	return out, nil
}

// with returns the tree as the edit makes it; nil if nothing is left of it.
func (t *tree) with(p Path, e Edit) (*tree, error) {
	if len(p) == 0 {
		return t.ended(e)
	}
	c := &tree{kind: t.kind, keys: slices.Clone(t.keys), kids: slices.Clone(t.kids)}
	i := t.child(p[0])
	if i < 0 {
		return t.absent(c, p, e)
	}
	if len(p) == 1 && e.Action == Add {
		return nil, errors.New("the key is there already")
	}
	kid, err := t.kids[i].with(p[1:], e)
	if err != nil {
		return nil, err
	}
	if kid != nil {
		c.kids[i] = kid
		return c, nil
	}
	c.kids = slices.Delete(c.kids, i, i+1)
	if t.kind == yaml.MappingNode {
		c.keys = slices.Delete(c.keys, i, i+1)
	}
	switch {
	case len(c.kids) > 0 || e.WhenEmpty == KeepEmpty:
		return c, nil
	case e.WhenEmpty != RemoveEmpty:
		return nil, fmt.Errorf("it is the last one, and %q says nothing of what becomes of the rest", e.WhenEmpty)
	}
	return nil, nil
}

// absent adds the last key of an Add.
func (t *tree) absent(c *tree, p Path, e Edit) (*tree, error) {
	isMap := t.kind == yaml.MappingNode || t.tag == nullTag
	if len(p) > 1 || e.Action != Add || !isMap || p[0].index > 0 {
		return nil, ErrAbsent
	}
	kid, err := newTreeOf(e.Value)
	c.kind, c.keys, c.kids = yaml.MappingNode, append(c.keys, p[0].key), append(c.kids, kid)
	return c, err
}

// ended makes the edit where its path ends.
func (t *tree) ended(e Edit) (*tree, error) {
	switch {
	case e.Action == Remove:
		return nil, nil
	case e.Action == Set && t.kind == yaml.ScalarNode:
		v, err := newTreeOf(e.Value)
		if err == nil && v.kind != yaml.ScalarNode {
			return nil, errors.New("only a scalar can be put for a scalar")
		}
		return v, err
	case e.Action == Append && (t.kind == yaml.SequenceNode || t.tag == nullTag):
		v, err := newTreeOf(e.Value)
		return &tree{kind: yaml.SequenceNode, kids: append(slices.Clone(t.kids), v)}, err
	}
	return nil, fmt.Errorf("what is there cannot be changed so (%s)", e.Action)
}

func (t *tree) child(s Step) int {
	if s.index > 0 {
		if t.kind != yaml.SequenceNode || s.index > len(t.kids) {
			return -1
		}
		return s.index - 1
	}
	return slices.Index(t.keys, s.key)
}

const nullTag = "!!null"

// newTreeOf makes the tree of a value that is to be written.
func newTreeOf(v any) (*tree, error) {
	leaf := func(tag, text string) (*tree, error) { return &tree{kind: yaml.ScalarNode, tag: tag, text: text}, nil }
	switch v := v.(type) {
	case nil:
		return leaf(nullTag, "null")
	case string:
		return leaf("!!str", v)
	case bool:
		return leaf("!!bool", strconv.FormatBool(v))
	case int, int64:
		return leaf("!!int", fmt.Sprint(v))
	case float64:
		return leaf("!!float", formatFloat(v))
	case []any:
		t := &tree{kind: yaml.SequenceNode}
		for _, e := range v {
			kid, err := newTreeOf(e)
			if err != nil {
				return nil, err
			}
			t.kids = append(t.kids, kid)
		}
		return t, nil
	case Map:
		t := &tree{kind: yaml.MappingNode}
		for _, e := range v {
			kid, err := newTreeOf(e.Value)
			if err != nil {
				return nil, err
			}
			t.keys, t.kids = append(t.keys, e.Key), append(t.kids, kid)
		}
		return t, nil
	}
	return nil, fmt.Errorf("a %T is nothing that is written", v)
}
