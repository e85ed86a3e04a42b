package rules

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render"
)

// manifest is what a file says of an object: the document that became it, or a patch of it. What rendering changes or leaves out (nulls,
// stringData, the form of a quantity) is to be seen nowhere else.
type manifest struct {
	file  string
	node  *yaml.Node
	patch bool
	// by are the objects that it has a part in, at least one.
	by []described
}

func (m manifest) gvk() object.GVK { return m.by[0].object.GVK }

// finding is one about a field of the manifest that stands at a node: of the first unit that has it, and of each other.
func (m manifest) finding(p field.Path, at *yaml.Node) Finding {
	f := Finding{Unit: m.by[0].unit.Name(), Object: m.by[0].object.ID, Path: p, Place: nodePlace(m.file, at)}
	for _, d := range m.by[1:] {
		if d.unit != m.by[0].unit {
			f.Repeats = append(f.Repeats, Repeat{d.unit.Name(), d.object.ID})
		}
	}
	return f
}

// title is the object as messages name it: as the manifest does, whatever prefixes its units add.
func (m manifest) title() string {
	id := m.by[0].object.ID
	if name := scalarAt(render.FieldNode(m.node, "metadata"), "name"); name != "" && strings.Contains(id.Name, name) {
		id.Name = name
	}
	return id.Kind + " " + id.Name
}

// manifests lists each document once, in the order in which the units read the files.
func (j *checker) manifests() []manifest {
	if j.documents != nil {
		return j.documents
	}
	var files []string
	readers := map[string][]*discover.Unit{}
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		for _, file := range manifestFiles(u) {
			if readers[file] == nil {
				files = append(files, file)
			}
			readers[file] = append(readers[file], u)
		}
	}
	made := j.madeAt()
	for _, file := range files {
		j.documents = append(j.documents, j.manifestsIn(file, readers[file], made)...)
	}
	return j.documents
}

// manifestFiles lists the files of a unit that may hold manifests.
func manifestFiles(u *discover.Unit) []string {
	out := slices.Clone(u.Reads)
	for _, o := range u.Objects {
		if o.File != "" {
			out = append(out, o.File)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool {
		return !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".json")
	})
}

func placeOf(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// madeAt are the objects by the place where their documents begin: in several units, if a base is in several.
func (j *checker) madeAt() map[string][]described {
	out := map[string][]described{}
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		for k := range u.Objects {
			o := &u.Objects[k]
			out[placeOf(o.File, o.Line)] = append(out[placeOf(o.File, o.Line)], described{u, o})
		}
	}
	return out
}

func (j *checker) manifestsIn(file string, readers []*discover.Unit, made map[string][]described) []manifest {
	var out []manifest
	for _, doc := range j.files.nodes(file) {
		for _, n := range listedItems(doc) {
			m := manifest{file: file, node: n, by: made[placeOf(file, n.Line)]}
			if len(m.by) == 0 {
				m.patch, m.by = true, patched(readers, n)
			}
			if len(m.by) > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

// listedItems are the items of a list, or the document itself.
func listedItems(doc *yaml.Node) []*yaml.Node {
	items := render.FieldNode(doc, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{doc}
	}
	var out []*yaml.Node
	for _, item := range items.Content {
		out = append(out, listedItems(render.FollowAlias(item))...)
	}
	return out
}

// patched are the units' objects that a document may be a patch of: of its kind, and of its name but for prefixes and suffixes.
func patched(units []*discover.Unit, n *yaml.Node) []described {
	kind, name := scalarAt(n, "kind"), scalarAt(render.FieldNode(n, "metadata"), "name")
	if kind == "" || name == "" {
		return nil
	}
	var out []described
	for _, u := range units {
		for i := range u.Objects {
			o := &u.Objects[i]
			if o.GVK.Kind == kind && o.GVK.APIVersion() == scalarAt(n, "apiVersion") && strings.Contains(o.ID.Name, name) {
				out = append(out, described{u, o})
			}
		}
	}
	return out
}

func scalarAt(n *yaml.Node, key string) string {
	if v := render.FieldNode(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// written is a value in a manifest, and what its kind says may stand there.
type written struct {
	path      field.Path
	key, node *yaml.Node // the key is nil of an item
	kind, in  *schema.Type
}

// read visits all values of a manifest that the kind knows, in the order in which they are written.
func (j *checker) read(m manifest, visit func(written)) {
	if kind, ok := j.schemas.Of(m.gvk()); ok {
		readNode(written{node: m.node, kind: kind}, visit)
	}
}

func readNode(at written, visit func(written)) {
	n := render.FollowAlias(at.node)
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, v := n.Content[i], n.Content[i+1]
			kind, _ := at.kind.Field(key.Value)
			next := written{path: append(slices.Clip(at.path), *element(key.Value)), key: key, node: v, kind: kind, in: at.kind}
			visit(next)
			readNode(next, visit)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			v, _ := render.DecodeValue("", item) // what cannot be read has no keys
			next := written{path: append(slices.Clip(at.path), itemElement(at.kind, v, i)), node: item, kind: at.kind.Item(), in: at.kind}
			visit(next)
			readNode(next, visit)
		}
	default: // nothing is below it
	}
}

// sends reports whether any object that the manifest has a part in holds a null at the path, as an app sends it. Others have a value there, or the
// rendering left it out.
func (m manifest) sends(p field.Path) bool {
	return slices.ContainsFunc(m.by, func(d described) bool { v, ok := field.ValueAt(d.object.Data, p); return ok && v == nil })
}
