package desired

import (
	"io/fs"
	"path"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
)

// Means is the part of Git's files that sets a field. The zero value is unknown.
type Means string

// The means that Origin knows.
const (
	ByManifest   Means = "manifest"
	ByPatch      Means = "patch"
	ByNamespace  Means = "namespace"
	ByName       Means = "namePrefix or nameSuffix"
	ByLabel      Means = "labels"
	ByAnnotation Means = "commonAnnotations"
	ByReplicas   Means = "replicas"
	ByImage      Means = "images"
	ByGenerator  Means = "generator"
	ByTemplate   Means = "template" // of a chart
	ByValues     Means = "values"   // of a chart
)

// Place is where Git writes a field. The zero value is unknown.
type Place struct {
	File         string // in the source; empty where Field says it
	Line, Column int    // 1-based; a Column of 0 is unknown
	// Field is what of the app's custom resource sets the field: its kind, namespace, name and path.
	Field string
	Means Means
	// Key is the key of a chart's values, as in helm --set, where Means is ByValues; empty where it is not known.
	Key string
	// Variable says which variables make the value of the text that is written there, and where they come from; empty for none.
	Variable string
	// Exact says that the value written there is the value wanted. If not, the place is the last one that is known to touch
	// the field, and something else has a part in it: a variable, a prefix, a replacement.
	Exact bool
}

// Known reports whether there is anything to show.
func (p Place) Known() bool { return p.File != "" || p.Field != "" }

// String prints the place as people look for it: file:line, or the field of the custom resource.
func (p Place) String() string {
	if p.Field != "" {
		return p.Field
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// maxFile bounds a file that Origin reads; renderers refuse larger ones by default.
const maxFile = 16 << 20

// Parsed is a tree with a cache of parsed files: Origins asks it instead of parsing a file once more.
type Parsed interface {
	fs.FS
	// Nodes are the documents of a file; none where it is not there, or is no YAML.
	Nodes(file string) []*yaml.Node
}

// FieldOrigin returns which file and line gives a field of an object its value: the last of the manifest, patches and
// transformers, in the order in which Kustomize applies them, whose value is the object's. It reads only what it must, and
// knows what a person would find by reading: replacements, vars and custom transformers are not followed, which shows as a Place
// that is not Exact, or unknown. Of the app its directory and what it changes itself are looked at.
func FieldOrigin(files fs.FS, a app.App, o Object, p field.Path) Place {
	places := FieldOrigins(files, a, o)(p)
	if i := WinningPlace(places); i >= 0 {
		return places[i]
	}
	return Place{}
}

// FieldOrigins returns every place that touches a field, in the order in which they are applied, with the limits of Origin. A file is
// read once, however many fields are asked for; the function is not for concurrent use.
// Of variables those are known that the app has itself.
func FieldOrigins(files fs.FS, a app.App, o Object) func(field.Path) []Place {
	return fieldOrigins(files, a, o, ownVariables(a))
}

func fieldOrigins(files fs.FS, a app.App, o Object, known knownVariables) func(field.Path) []Place {
	parsed := map[string][]*yaml.Node{}
	return func(p field.Path) []Place {
		t := &trail{files: files, object: o, path: p, seen: map[string]bool{}, parsed: parsed, variables: known}
		t.value, t.there = field.ValueAt(o.Data, p)
		if o.File == "" || len(p) == 0 {
			return nil
		}
		if a.Release != nil {
			return []Place{{File: o.File, Line: o.Line, Means: ByTemplate}}
		}
		dir := path.Clean(a.Path)
		file, err := render.KustomizationFile(files, dir)
		switch {
		case a.Layout == app.PlainLayout: // whatever its files are called
			t.manifest()
		case err != nil:
			return nil
		case file != "":
			t.build(dir)
		case !t.generated(dir):
			t.manifest()
		}
		t.laid(a)
		return t.places
	}
}

// WinningPlace says which of a field's places gives it its value: the last exact one, or else the last; -1 for none.
func WinningPlace(places []Place) int {
	for i := len(places) - 1; i >= 0; i-- {
		if places[i].Exact {
			return i
		}
	}
	return len(places) - 1
}

// trail collects the places that touch a field, in the order in which they are applied.
type trail struct {
	files   fs.FS
	object  Object
	path    field.Path
	value   any // of the field in the object
	there   bool
	places  []Place
	first   string          // the name in the file, before prefixes and suffixes
	written any             // the document in the file
	seen    map[string]bool // directories on the way down
	parsed  map[string][]*yaml.Node

	variables knownVariables
}

func (t *trail) add(file string, n *yaml.Node, means Means, value any) {
	p := Place{File: file, Line: n.Line, Column: n.Column, Means: means, Exact: t.there && field.EqualValues(value, t.value)}
	if text, ok := value.(string); ok {
		t.substituted(&p, text)
	}
	t.places = append(t.places, p)
}

// manifest looks the field up in the document that became the object.
func (t *trail) manifest() {
	for _, doc := range t.nodes(t.object.File) {
		if _, err := render.DecodeValue(t.object.File, doc); err != nil {
			continue // an alias may lead to itself
		}
		if at := document(doc, t.object.Line); at != nil {
			t.first = scalarText(render.FieldNode(at, "metadata"), "name")
			t.written, _ = render.DecodeValue(t.object.File, at) // nil if it cannot be read; then it has no places
			t.descend(t.object.File, at, t.path, ByManifest)
			return
		}
	}
}

// document finds the object that begins at a line: the document itself, or an item of a list.
func document(doc *yaml.Node, line int) *yaml.Node {
	if doc.Line == line && render.FieldNode(doc, "items") == nil {
		return doc
	}
	items := render.FieldNode(doc, "items")
	if items == nil {
		return nil
	}
	for _, item := range items.Content {
		if found := document(render.FollowAlias(item), line); found != nil {
			return found
		}
	}
	return nil
}

// descend follows a path below a node and notes the place where it ends, if it does.
func (t *trail) descend(file string, n *yaml.Node, p field.Path, means Means) {
	at := nodeAtPath(n, p)
	if at == nil {
		return
	}
	if value, err := render.DecodeValue(file, at); err == nil {
		t.add(file, at, means, value)
	}
}

// nodeAtPath returns the node at a path, nil if there is none.
func nodeAtPath(n *yaml.Node, p field.Path) *yaml.Node {
	for _, e := range p {
		if n = render.FollowAlias(n); n == nil {
			return nil
		}
		if e.FieldName != nil {
			n = render.FieldNode(n, *e.FieldName)
		} else {
			n = listItem(n, e)
		}
	}
	return render.FollowAlias(n)
}

// listItem returns the list item that e names, as field.ChildValue finds it.
func listItem(n *yaml.Node, e field.Element) *yaml.Node {
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	list := make([]any, len(n.Content))
	for i, c := range n.Content {
		v, err := render.DecodeValue("", c)
		if err != nil {
			return nil
		}
		list[i] = v
	}
	want, ok := field.ChildValue(list, e)
	if !ok {
		return nil
	}
	for i, v := range list {
		if field.EqualValues(v, want) {
			return n.Content[i]
		}
	}
	return nil
}

// nodes parses a file, once; what cannot be read has no places.
func (t *trail) nodes(file string) []*yaml.Node {
	if nodes, ok := t.parsed[file]; ok {
		return nodes
	}
	nodes := t.read(file)
	t.parsed[file] = nodes
	return nodes
}

func (t *trail) read(file string) []*yaml.Node {
	if known, ok := t.files.(Parsed); ok {
		return known.Nodes(file)
	}
	data, err := render.ReadFile(t.files, file, maxFile)
	if err != nil {
		return nil
	}
	nodes, err := render.ParseNodes(file, data)
	if err != nil {
		return nil
	}
	return nodes
}
