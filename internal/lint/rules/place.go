package rules

import (
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// maxFile bounds a file that is looked into for a place.
const maxFile = 16 << 20

// files keeps what was parsed, since many objects stand in one file and many units read it.
type files struct {
	survey discover.Discovery
	parsed map[string][]*yaml.Node
	// generated is what is known of each file: see isGenerated.
	generated map[string]bool
}

// nodes are the documents of a file; none where it cannot be read as YAML, which the discovery reports.
func (f *files) nodes(name string) []*yaml.Node {
	if nodes, ok := f.parsed[name]; ok {
		return nodes
	}
	var nodes []*yaml.Node
	if data, err := render.ReadFile(f.survey.Files, name, maxFile); err == nil {
		nodes, _ = render.ParseNodes(name, data)
	}
	for i := range nodes {
		if _, err := render.DecodeValue(name, nodes[i]); err != nil {
			nodes[i] = &yaml.Node{Kind: yaml.ScalarNode} // a bomb, or an alias that leads to itself
		}
	}
	if f.parsed == nil {
		f.parsed = map[string][]*yaml.Node{}
	}
	f.parsed[name] = nodes
	return nodes
}

// document is the node that became the object; nil where it was generated, or cannot be found.
func (f *files) document(o desired.Object) *yaml.Node {
	for _, doc := range f.nodes(o.File) {
		if at := beginning(doc, o.Line); at != nil {
			return at
		}
	}
	return nil
}

// beginning finds the object that begins at a line: the document itself, or an item of a list.
func beginning(doc *yaml.Node, line int) *yaml.Node {
	items := render.FieldNode(doc, "items")
	if items == nil {
		if doc.Kind == yaml.MappingNode && doc.Line == line {
			return doc
		}
		return nil
	}
	for _, item := range items.Content {
		if found := beginning(render.FollowAlias(item), line); found != nil {
			return found
		}
	}
	return nil
}

// whole is where the object begins.
func (f *files) whole(o desired.Object) desired.Place {
	p := desired.Place{File: o.File, Line: o.Line, Means: desired.ByManifest}
	if doc := f.document(o); doc != nil {
		p.Column = doc.Column
	}
	return p
}

// place is where Git gives a field of an object its value; where that is not known, the nearest field around it, or the object.
func (f *files) place(u discover.Unit, o desired.Object, p field.Path) desired.Place {
	return f.atKey(f.value(u, o, p))
}

// value is the same for the value itself, not for its key.
func (f *files) value(u discover.Unit, o desired.Object, p field.Path) desired.Place {
	places := f.origins(u, o)
	for ; len(p) > 0; p = p[:len(p)-1] {
		all := places(p)
		if i := desired.WinningPlace(all); i >= 0 {
			return all[i]
		}
	}
	return f.whole(o)
}

// items are the nodes of a list's items, if the list stands at one place with all of them; else none.
func (f *files) items(u discover.Unit, o desired.Object, p field.Path, count int) []*yaml.Node {
	place := f.value(u, o, p)
	for _, doc := range f.nodes(place.File) {
		if n := valueAt(doc, place.Line, place.Column); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == count {
			return n.Content
		}
	}
	return nil
}

// valueAt finds the outermost value that stands at a place.
func valueAt(n *yaml.Node, line, column int) *yaml.Node {
	if n.Line == line && n.Column == column {
		return n
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if found := valueAt(c, line, column); found != nil {
			return found
		}
	}
	return nil
}

// atKey moves a place from a value to the key that stands before it, which is where a person looks.
func (f *files) atKey(p desired.Place) desired.Place {
	if p.File == "" || p.Column == 0 {
		return p
	}
	for _, doc := range f.nodes(p.File) {
		if key := keyOfValue(doc, p.Line, p.Column); key != nil {
			p.Line, p.Column = key.Line, key.Column
			return p
		}
	}
	return p
}

// keyOfValue finds the key of the value that stands at a place.
func keyOfValue(n *yaml.Node, line, column int) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := n.Content[i+1]; v.Line == line && v.Column == column {
				return n.Content[i]
			}
		}
	}
	for _, c := range n.Content {
		if found := keyOfValue(c, line, column); found != nil {
			return found
		}
	}
	return nil
}

// nodePlace is the place of a node.
func nodePlace(file string, n *yaml.Node) desired.Place {
	return desired.Place{File: file, Line: n.Line, Column: n.Column, Means: desired.ByManifest, Exact: true}
}

// tree is the survey's files, with what was parsed of them.
func (f *files) tree() fs.FS { return parsed{f.survey.Files, f} }

type parsed struct {
	fs.FS
	files *files
}

// Nodes are the documents of a file.
func (p parsed) Nodes(file string) []*yaml.Node { return p.files.nodes(file) }

// Stat asks the tree itself.
func (p parsed) Stat(name string) (fs.FileInfo, error) { return fs.Stat(p.FS, name) }

// ReadFile asks the tree itself.
func (p parsed) ReadFile(name string) ([]byte, error) { return fs.ReadFile(p.FS, name) }
