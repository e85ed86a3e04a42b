package desired

import (
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
)

// patchEntry notes what an entry of patches or patchesJson6902 sets.
func (t *trail) patchEntry(dir, file string, n *yaml.Node) {
	target := render.FieldNode(n, "target")
	if target != nil && !t.targeted(target) {
		return
	}
	for _, key := range []string{"path", "patch"} {
		if at := render.FieldNode(n, key); at != nil {
			t.patch(dir, file, at, target)
		}
	}
}

// patch reads a patch that stands in a file or in place, and notes what it sets.
func (t *trail) patch(dir, file string, n, target *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if !strings.Contains(n.Value, "\n") && !strings.ContainsAny(n.Value, "{[") {
		name := path.Join(dir, n.Value)
		for _, doc := range t.nodes(name) {
			t.patchDocument(name, doc, target)
		}
		return
	}
	docs, err := render.ParseNodes(file, []byte(n.Value))
	if err != nil {
		return
	}
	known := len(t.places)
	for _, doc := range docs {
		t.patchDocument(file, doc, target)
	}
	for i := known; i < len(t.places); i++ {
		t.places[i].move(n)
	}
}

// move puts a place inside a text in place where the text stands in its file. Only in a literal block do lines correspond.
func (p *Place) move(n *yaml.Node) {
	p.Column = 0
	if n.Style&yaml.LiteralStyle == 0 {
		p.Line = n.Line
		return
	}
	p.Line += n.Line
}

func (t *trail) patchDocument(file string, doc, target *yaml.Node) {
	if doc.Kind == yaml.SequenceNode {
		for _, op := range doc.Content {
			t.operation(file, render.FollowAlias(op))
		}
		return
	}
	if target == nil && (scalarText(doc, "kind") != t.object.ID.Kind || !t.named(scalarText(render.FieldNode(doc, "metadata"), "name"))) {
		return
	}
	t.descend(file, doc, t.path, ByPatch)
}

// operation notes an operation of a JSON patch (RFC 6902) whose path is the field's or leads to it.
func (t *trail) operation(file string, op *yaml.Node) {
	value := render.FieldNode(op, "value")
	if kind := scalarText(op, "op"); value == nil || kind != "add" && kind != "replace" {
		return
	}
	// A list's order may change between the file and the result, and a pointer counts in one of them.
	for _, root := range []any{map[string]any(t.object.Data), t.written} {
		if rest, ok := t.below(root, scalarText(op, "path")); ok {
			t.descend(file, value, rest, ByPatch)
			return
		}
	}
}

// below returns what of the field's path is left below a JSON pointer (RFC 6901) into root.
func (t *trail) below(root any, pointer string) (field.Path, bool) {
	if pointer == "" {
		return t.path, true
	}
	at := root
	for i, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if i >= len(t.path) {
			return nil, false
		}
		next, ok := field.ChildValue(at, t.path[i])
		if !ok || !sameChild(at, next, t.path[i], token) {
			return nil, false
		}
		at = next
	}
	return t.path[strings.Count(pointer, "/"):], true
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// sameChild reports whether a pointer's token names the same child as a path's element.
func sameChild(at, next any, e field.Element, token string) bool {
	if e.FieldName != nil {
		return unescape.Replace(token) == *e.FieldName
	}
	list, ok := at.([]any)
	if !ok {
		return false
	}
	if token == "-" {
		return true // the value decides
	}
	i, err := strconv.Atoi(token)
	return err == nil && i >= 0 && i < len(list) && field.EqualValues(list[i], next)
}
