package sops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
)

// loadYAML reads the documents of a file. What is no YAML, or no mapping, is not encrypted; a builder says why it cannot be read.
func loadYAML(data []byte) ([]*document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var out []*document
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, ErrPlain
		}
		d, err := loadDocument(&node)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
}

func loadDocument(node *yaml.Node) (*document, error) {
	root := &block{}
	top := render.FollowAlias(node.Content[0])
	l := yamlLoader{budget: &budget{}}
	root.addComments(node.HeadComment, false)
	root.addComments(node.LineComment, false)
	switch {
	case top.Kind == yaml.MappingNode:
		if err := l.mapping(root, top, ownComments, 0); err != nil {
			return nil, err
		}
	case top.ShortTag() != "!!null":
		return nil, ErrPlain
	}
	root.addComments(node.FootComment, false)
	d := &document{root: root, place: &place{top: top}}
	dropped := root.drop(func(key string) bool { return key == metadataKey })
	if len(dropped) == 0 {
		return d, nil
	}
	meta, ok := dropped[0].value.(*block)
	if len(dropped) > 1 || !ok || meta.list {
		return nil, fmt.Errorf("%s: want one mapping with the metadata of SOPS", metadataKey)
	}
	if mac, ok := meta.get("mac"); !ok || mac == nil {
		root.items = append(root.items, dropped...)
		return d, nil
	}
	d.keep = staysEncrypted(goValue(root))
	var err error
	d.metadata, err = newMetadata(goValue(meta))
	return d, err
}

// decryptKey is the annotation by which an object stays encrypted.
const decryptKey = "kustomize.toolkit.fluxcd.io/decrypt"

func staysEncrypted(doc any) bool {
	o, _ := doc.(map[string]any)
	meta, _ := o["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	value, _ := annotations[decryptKey].(string)
	return strings.EqualFold(value, "disabled")
}

// addComments adds the lines of a comment.
func (b *block) addComments(text string, inline bool) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b.items = append(b.items, item{comment: &comment{text: line[1:], inline: inline}})
		}
	}
}

// commentsOf says which block gets the comments of a node.
type commentsOf string

const (
	ownComments    commentsOf = "own"
	parentComments commentsOf = "parent" // they are there already
)

type yamlLoader struct{ budget *budget }

func (l yamlLoader) value(n *yaml.Node, c commentsOf, depth int) (any, error) {
	if err := l.budget.spend(depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return l.value(n.Alias, ownComments, depth+1)
	case yaml.MappingNode:
		b := &block{}
		return b, l.mapping(b, n, c, depth)
	case yaml.SequenceNode:
		b := &block{list: true}
		return b, l.sequence(b, n, c, depth)
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("line %d: a value cannot be read", n.Line)
		}
		return v, nil
	}
}

func (l yamlLoader) sequence(b *block, n *yaml.Node, c commentsOf, depth int) error {
	if c == ownComments {
		b.addComments(n.HeadComment, false)
		b.addComments(n.LineComment, false)
	}
	for _, e := range n.Content {
		b.addComments(e.HeadComment, false)
		b.addComments(e.LineComment, true)
		v, err := l.value(e, parentComments, depth+1)
		if err != nil {
			return err
		}
		b.items = append(b.items, item{value: v})
		b.addComments(e.FootComment, false)
	}
	if c == ownComments {
		b.addComments(n.FootComment, false)
	}
	return nil
}

func (l yamlLoader) mapping(b *block, n *yaml.Node, c commentsOf, depth int) error {
	if c == ownComments {
		b.addComments(n.HeadComment, false)
		b.addComments(n.LineComment, false)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := l.entry(b, n.Content[i], n.Content[i+1], depth); err != nil {
			return err
		}
	}
	if c == ownComments {
		b.addComments(n.FootComment, false)
	}
	return nil
}

func (l yamlLoader) entry(b *block, key, value *yaml.Node, depth int) error {
	if tag := key.ShortTag(); key.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!merge" {
		return fmt.Errorf("line %d: SOPS encrypts no mapping whose keys are not texts: quote the key", key.Line)
	}
	b.addComments(key.HeadComment, false)
	b.addComments(key.LineComment, false)
	whose := ownComments
	if value.Kind == yaml.ScalarNode || value.Kind == yaml.AliasNode {
		whose = parentComments
		b.addComments(value.HeadComment, false)
		b.addComments(value.LineComment, true)
	}
	v, err := l.value(value, whose, depth+1)
	if err != nil {
		return err
	}
	b.items = append(b.items, item{key: key.Value, value: v})
	if whose == parentComments {
		b.addComments(value.FootComment, false)
	}
	b.addComments(key.FootComment, false)
	return nil
}

// yamlIndent is how far SOPS indents.
const yamlIndent = 4

func (f *File) yamlBytes(view View) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(yamlIndent)
	for _, d := range f.documents {
		top, err := yamlNode(d.root, view)
		if err != nil {
			return nil, err
		}
		if err := e.Encode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{top}}); err != nil {
			return nil, errors.New("the decrypted values cannot be written as YAML")
		}
	}
	err := e.Close()
	return out.Bytes(), err
}

func yamlNode(v any, view View) (*yaml.Node, error) {
	b, ok := v.(*block)
	if !ok {
		return encodedNode(leafValue(v, view), "a decrypted value cannot be written as YAML")
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	if b.list {
		n.Kind = yaml.SequenceNode
	}
	var p pending
	for _, i := range b.items {
		if i.comment != nil {
			p.add(*i.comment)
			continue
		}
		if len(n.Content) == 0 {
			n.HeadComment = commentText(p.take(), n.HeadComment)
		}
		value, err := yamlNode(i.value, view)
		if err != nil {
			return nil, err
		}
		first := value
		if !b.list {
			if first, err = encodedNode(i.key, "a key cannot be written as YAML"); err != nil {
				return nil, err
			}
			n.Content = append(n.Content, first)
		}
		first.HeadComment = commentText(p.take(), first.HeadComment)
		value.LineComment = joinComments(value.LineComment, p.takeInline())
		n.Content = append(n.Content, value)
	}
	p.finish(n, b.list)
	return n, nil
}

// encodedNode is a value as a node. The encoder's own error quotes the value: problem is said in its place.
func encodedNode(v any, problem string) (*yaml.Node, error) {
	n := &yaml.Node{}
	if n.Encode(v) != nil {
		return nil, errors.New(problem)
	}
	return n, nil
}

// pending are comments that wait for the item that they belong to.
type pending struct{ lines, inline []string }

func (p *pending) add(c comment) {
	if c.inline {
		p.inline = append(p.inline, c.text)
	} else {
		p.lines = append(p.lines, c.text)
	}
}

func (p *pending) take() []string {
	out := p.lines
	p.lines = nil
	return out
}

func (p *pending) takeInline() []string {
	out := p.inline
	p.inline = nil
	return out
}

// finish gives the comments behind the last item to it.
func (p *pending) finish(n *yaml.Node, list bool) {
	rest := append(p.take(), p.takeInline()...)
	switch size := len(n.Content); {
	case len(rest) == 0:
	case size == 0:
		n.HeadComment = commentText(rest, n.HeadComment)
	case list:
		n.Content[size-1].FootComment = joinComments(n.Content[size-1].FootComment, rest)
	default:
		n.Content[size-2].FootComment = joinComments(n.Content[size-2].FootComment, rest)
	}
}

// commentText puts comments before one that is there.
func commentText(lines []string, before string) string {
	switch {
	case len(lines) == 0:
		return before
	case before == "":
		return "#" + strings.Join(lines, "\n#")
	}
	return "#" + strings.Join(lines, "\n#") + "\n" + before
}

// joinComments puts comments behind one that is there.
func joinComments(before string, lines []string) string {
	switch {
	case len(lines) == 0:
		return before
	case before == "":
		return "#" + strings.Join(lines, "\n#")
	}
	return before + "\n#" + strings.Join(lines, "\n#")
}
