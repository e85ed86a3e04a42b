package fix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// remover takes a field out of every file that gives it to an object.
type remover struct {
	unit   discover.Unit
	object render.Object
	path   field.Path
	tree   *tree
	// may reports whether a file may be edited; nil for all.
	may func(file string) bool
	// names are what the object is called in files.
	names []string
	files []string // that were edited
	// laid are the fields of the app's custom resource that were edited: the app is still as it was read.
	laid map[string]bool
}

// mostPlaces bounds how often one field can be set.
const mostPlaces = 64

// all removes the field everywhere, the last place first, since each place is looked for in what the one before it left.
func (r *remover) all() error {
	for range mostPlaces {
		done, err := r.one()
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("more than %d places set it", mostPlaces)
}

func (r *remover) one() (done bool, err error) {
	o := desired.Object{ID: r.object.Data.ID(), GVK: r.object.Data.GVK(), Data: r.object.Data, File: r.object.File, Line: r.object.Line}
	places := desired.FieldOrigins(r.tree, r.unit.App, o)(r.path)
	if r.unit.Dialect == discover.Bare && r.unit.Line == 0 {
		places = slices.DeleteFunc(places, func(p desired.Place) bool { return p.Means != desired.ByManifest })
	}
	for _, p := range slices.Backward(places) {
		if r.may != nil && !r.may(p.File) {
			continue
		}
		edited, err := r.place(p)
		if edited || err != nil {
			return false, err
		}
	}
	return true, nil
}

// place removes one; false for a place that is another object's.
func (r *remover) place(p desired.Place) (bool, error) {
	if p.Field != "" {
		if r.laid[p.Field] {
			return false, nil
		}
		r.laid[p.Field] = true
		return r.inResource(p)
	}
	docs, err := r.nodes(p.File)
	if err != nil {
		return false, err
	}
	if p.Column == 0 {
		return r.inText(p, docs)
	}
	for i, doc := range docs {
		way, ok := pathToPlace(doc, p.Line, p.Column, nil)
		if !ok {
			continue
		}
		switch p.Means {
		case desired.ByManifest:
			return true, r.edit(p.File, yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.KeepEmpty})
		case desired.ByReplicas:
			return r.entry(p.File, doc, i, way)
		case desired.ByPatch:
			return r.inPatch(p.File, way, i, docs)
		default: // no other is a value of its own
		}
	}
	return false, fmt.Errorf("%s sets it by %s, of which there is no safe edit", p, p.Means)
}

func (r *remover) nodes(file string) ([]*yaml.Node, error) {
	data, err := r.tree.read(file)
	if err != nil {
		return nil, err
	}
	return render.ParseNodes(file, data)
}

func (r *remover) edit(file string, edits ...yamledit.Edit) error {
	data, err := r.tree.read(file)
	if err != nil {
		return err
	}
	if data, err = yamledit.ApplyEdits(file, data, edits...); err != nil {
		return err
	}
	r.put(file, data)
	return nil
}

func (r *remover) put(file string, data []byte) {
	r.tree.edits[file] = data
	if !slices.Contains(r.files, file) {
		r.files = append(r.files, file)
	}
}

// pathToPlace finds the way to the value at a place.
func pathToPlace(n *yaml.Node, line, column int, way yamledit.Path) (yamledit.Path, bool) {
	if n.Line == line && n.Column == column && (n.Kind == yaml.ScalarNode || len(way) > 0 && n.Style&yaml.FlowStyle != 0) {
		return way, true
	}
	for i, c := range n.Content {
		step := yamledit.ItemStep(i)
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			step = yamledit.KeyStep(n.Content[i-1].Value)
		}
		if found, ok := pathToPlace(c, line, column, append(slices.Clone(way), step)); ok {
			return found, true
		}
	}
	return nil, false
}

// nodeAtPath is the node that a way leads to.
func nodeAtPath(n *yaml.Node, way yamledit.Path) *yaml.Node {
	for _, s := range way {
		n = render.FollowAlias(n)
		if n == nil {
			return nil
		}
		var next *yaml.Node
		for i, c := range n.Content {
			if n.Kind == yaml.SequenceNode && s == yamledit.ItemStep(i) || n.Kind == yaml.MappingNode && i%2 == 1 && s == yamledit.KeyStep(n.Content[i-1].Value) {
				next = c
			}
		}
		n = next
	}
	return n
}

// entry removes an entry of replicas: of a kustomization that means the object by its name.
func (r *remover) entry(file string, doc *yaml.Node, i int, way yamledit.Path) (bool, error) {
	if len(way) < 2 {
		return false, nil
	}
	name := render.FieldNode(nodeAtPath(doc, way[:len(way)-1]), "name")
	if name == nil || !r.called(name.Value) {
		return false, nil
	}
	return true, r.edit(file, yamledit.Edit{Document: i, Path: way[:len(way)-1], Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty})
}

// called reports whether a name in a kustomization is the object's: what it is called there, or on the way to what it is called in the end.
func (r *remover) called(name string) bool {
	last, first := r.names[0], r.names[len(r.names)-1]
	return slices.Contains(r.names, name) || strings.Contains(last, name) && strings.Contains(name, first)
}

// inPatch removes what a patch of its own file sets; a patch that is empty then goes, and what names it.
func (r *remover) inPatch(file string, way yamledit.Path, i int, docs []*yaml.Node) (bool, error) {
	names, err := r.namers(file)
	if err != nil {
		return false, err
	}
	rest, mine, err := r.patched(docs[i], i, way, r.targeted(names, file))
	if err != nil || !mine {
		return false, err
	}
	if rest != nil {
		return true, r.edit(file, *rest)
	}
	if len(docs) > 1 {
		return true, r.edit(file, yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty})
	}
	return true, r.dropPatch(names, file)
}

// patched says how a document of a patch is to be edited: nil where nothing would be left of it. mine is false for a patch of another object.
func (r *remover) patched(doc *yaml.Node, i int, way yamledit.Path, targeted bool) (e *yamledit.Edit, mine bool, err error) {
	if doc.Kind == yaml.SequenceNode {
		return operation(doc, i, way)
	}
	if name := render.FieldNode(render.FieldNode(doc, "metadata"), "name"); name != nil && !targeted && !r.called(name.Value) {
		return nil, false, nil
	}
	if onlyThat(doc, way) {
		return nil, true, nil
	}
	return &yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty}, true, nil
}

// operation removes one of a JSON patch (RFC 6902), or a part of its value.
func operation(doc *yaml.Node, i int, way yamledit.Path) (*yamledit.Edit, bool, error) {
	switch {
	case len(way) > 2:
		return &yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.KeepEmpty}, true, nil
	case len(doc.Content) > 1:
		return &yamledit.Edit{Document: i, Path: way[:1], Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty}, true, nil
	}
	return nil, true, nil
}

// onlyThat reports whether a patch says nothing but the one field, and whose it is.
func onlyThat(n *yaml.Node, way yamledit.Path) bool {
	for depth := 0; len(way) > 0; depth++ {
		if n.Kind != yaml.MappingNode {
			return false
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			names := depth == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, key) && onlyNamesObject(n.Content[i+1])
			if yamledit.KeyStep(key) != way[0] && !names {
				return false
			}
		}
		n, way = nodeAtPath(n, way[:1]), way[1:]
	}
	return true
}

// onlyNamesObject reports whether metadata only names an object.
func onlyNamesObject(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains([]string{"name", "namespace"}, n.Content[i].Value) {
			return false
		}
	}
	return true
}

// dropPatch takes a patch's file away, and every entry that names it.
func (r *remover) dropPatch(names []string, file string) error {
	for _, name := range names {
		if r.may != nil && !r.may(name) {
			return fmt.Errorf("%s names %s, and others build on it", name, file)
		}
		if err := r.unname(name, file); err != nil {
			return err
		}
	}
	r.put(file, nil)
	return nil
}

// namers are the kustomizations of the tree that name a file: those beside and above it are looked at.
func (r *remover) namers(file string) ([]string, error) {
	var out []string
	for _, name := range r.unit.Reads {
		if !isKustomization(name) {
			continue
		}
		docs, err := r.nodes(name)
		if err != nil {
			return nil, err
		}
		if len(docs) > 0 && len(namingEntries(docs[0], path.Dir(name), file)) > 0 {
			out = append(out, name)
		}
	}
	return out, nil
}

// targeted reports whether an entry that names a patch's file says itself which objects are meant.
func (r *remover) targeted(kustomizations []string, file string) bool {
	for _, name := range kustomizations {
		docs, err := r.nodes(name)
		if err != nil {
			return false
		}
		for _, way := range namingEntries(docs[0], path.Dir(name), file) {
			if render.FieldNode(nodeAtPath(docs[0], way), "target") != nil {
				return true
			}
		}
	}
	return false
}

// unname removes the entries that name a file, from the last on.
func (r *remover) unname(kustomization, file string) error {
	docs, err := r.nodes(kustomization)
	if err != nil {
		return err
	}
	for _, way := range slices.Backward(namingEntries(docs[0], path.Dir(kustomization), file)) {
		if err := r.edit(kustomization, yamledit.Edit{Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty}); err != nil {
			return err
		}
	}
	return nil
}

func namingEntries(k *yaml.Node, dir, file string) []yamledit.Path {
	var out []yamledit.Path
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		list := render.FieldNode(k, key)
		if list == nil {
			continue
		}
		for i, n := range list.Content {
			n = render.FollowAlias(n)
			if at := render.FieldNode(n, "path"); at != nil {
				n = at
			}
			if n.Kind == yaml.ScalarNode && path.Join(dir, n.Value) == file {
				out = append(out, yamledit.Path{yamledit.KeyStep(key), yamledit.ItemStep(i)})
			}
		}
	}
	return out
}

// namesOf is what an object is called in the end, and in its file, before prefixes and suffixes.
func namesOf(files *tree, o render.Object) []string {
	names := []string{o.Data.Name()}
	data, err := files.read(o.File)
	if err != nil {
		return names
	}
	objects, err := render.Manifests(o.File, data)
	if err != nil {
		return names
	}
	for _, w := range objects {
		if w.Line == o.Line && w.Data.Name() != names[0] {
			names = append(names, w.Data.Name())
		}
	}
	return names
}
