package fix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// inText removes what a patch sets that stands in place in a kustomization.
func (r *remover) inText(p desired.Place, docs []*yaml.Node) (bool, error) {
	if len(docs) == 0 || !isKustomization(p.File) {
		return false, nil
	}
	for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
		list := render.FieldNode(docs[0], key)
		if list == nil {
			continue
		}
		for i, n := range list.Content {
			in, ok := patchAt(p, n, yamledit.Path{yamledit.KeyStep(key), yamledit.ItemStep(i)})
			if !ok {
				continue
			}
			if done, err := r.text(in); done || err != nil {
				return done, err
			}
		}
	}
	return false, nil
}

// patchAt is the text of an entry of patches, if the place is in it.
func patchAt(p desired.Place, entry *yaml.Node, way yamledit.Path) (inlinePatch, bool) {
	text := render.FollowAlias(entry)
	if in := render.FieldNode(entry, "patch"); in != nil {
		text, way = in, append(way, yamledit.KeyStep("patch"))
	}
	return inlinePatch{p.File, 0, way, text.Value, render.FieldNode(entry, "target") != nil}, holdsLine(text, p.Line)
}

// holdsLine reports whether a line of a file is one of a text's.
func holdsLine(n *yaml.Node, line int) bool {
	return n.Kind == yaml.ScalarNode && line >= n.Line && line <= n.Line+strings.Count(n.Value, "\n")+1
}

// inlinePatch is a patch that stands as a text in another document.
type inlinePatch struct {
	file     string
	document int
	way      yamledit.Path // to the text; its entry is the one above it where the text is that of a key
	text     string
	targeted bool // its entry says which objects are meant
}

// text removes what a text sets; false for a text that does not set it, or for another object.
func (r *remover) text(in inlinePatch) (bool, error) {
	docs, err := render.ParseNodes(in.file, []byte(in.text))
	if err != nil {
		return false, err
	}
	for i := range docs {
		way := r.within(docs[i])
		if way == nil {
			continue
		}
		e, mine, err := r.patched(docs[i], i, way, in.targeted)
		if err != nil || !mine {
			return false, err
		}
		if e == nil && len(docs) == 1 {
			return true, r.edit(in.file, yamledit.Edit{Document: in.document, Path: in.entry(), Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty})
		}
		if e == nil {
			e = &yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty}
		}
		text, err := yamledit.ApplyEdits(in.file, []byte(in.text), *e)
		if err != nil {
			return false, err
		}
		return true, r.edit(in.file, yamledit.Edit{Document: in.document, Path: in.way, Action: yamledit.Set, Value: string(text)})
	}
	return false, nil
}

// entry is the item of the list of patches that the text is, or is in.
func (in inlinePatch) entry() yamledit.Path {
	if in.way[len(in.way)-1] == yamledit.KeyStep("patch") {
		return in.way[:len(in.way)-1]
	}
	return in.way
}

// within is the way to the field in a patch; nil where it does not set it.
func (r *remover) within(doc *yaml.Node) yamledit.Path {
	if doc.Kind != yaml.SequenceNode {
		return pathToField(doc, r.path, nil)
	}
	for i, op := range doc.Content {
		at, kind := render.FieldNode(op, "path"), render.FieldNode(op, "op")
		if at == nil || kind == nil || kind.Value != "add" && kind.Value != "replace" {
			continue
		}
		rest, ok := restBelow(r.path, at.Value)
		value := render.FieldNode(op, "value")
		if !ok || value == nil {
			continue
		}
		if way := pathToField(value, rest, yamledit.Path{yamledit.ItemStep(i), yamledit.KeyStep("value")}); way != nil {
			return way
		}
	}
	return nil
}

// restBelow is what is left of a path of names below a JSON pointer.
func restBelow(p field.Path, pointer string) (field.Path, bool) {
	if pointer == "" {
		return p, true
	}
	at, err := field.ParsePointer(pointer)
	if err != nil || len(at) > len(p) {
		return nil, false
	}
	for i, token := range at {
		if p[i].FieldName == nil || *p[i].FieldName != token {
			return nil, false
		}
	}
	return p[len(at):], true
}

// pathToField is the way to a path of names below a node; nil where it does not lead anywhere. An item of a list is found by its keys.
func pathToField(n *yaml.Node, p field.Path, way yamledit.Path) yamledit.Path {
	if way == nil {
		way = yamledit.Path{}
	}
	for _, e := range p {
		n = render.FollowAlias(n)
		if e.FieldName != nil {
			n = render.FieldNode(n, *e.FieldName)
			way = append(way, yamledit.KeyStep(*e.FieldName))
		} else {
			var i int
			if n, i = findItem(n, e); n != nil {
				way = append(way, yamledit.ItemStep(i))
			}
		}
		if n == nil {
			return nil
		}
	}
	return way
}

func findItem(n *yaml.Node, e field.Element) (*yaml.Node, int) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil, 0
	}
	for i, c := range n.Content {
		if v, err := render.DecodeValue("", c); err == nil && e.Index == nil && field.Matches(v, e) || e.Index != nil && *e.Index == i {
			return c, i
		}
	}
	return nil, 0
}

// inResource removes what the app's own custom resource sets: an entry of its replicas, or a part of a patch.
func (r *remover) inResource(p desired.Place) (bool, error) {
	at := strings.TrimPrefix(p.Field, r.unit.App.Key.String()+" ")
	docs, err := r.nodes(r.unit.File)
	if err != nil {
		return false, err
	}
	i, prefix := writtenIn(docs, r.unit)
	if prefix == nil {
		return false, fmt.Errorf("%s sets it, which is not written so in %s", p.Field, r.unit.File)
	}
	way := append(prefix, stepsOf(at)...)
	n := nodeAtPath(docs[i], way)
	switch {
	case n == nil:
		return false, fmt.Errorf("%s sets it, which is not written so in %s", p.Field, r.unit.File)
	case p.Means == desired.ByReplicas:
		return true, r.edit(r.unit.File, yamledit.Edit{Document: i, Path: way, Action: yamledit.Remove, WhenEmpty: yamledit.RemoveEmpty})
	case render.FieldNode(n, "patch") != nil:
		return r.text(inlinePatch{r.unit.File, i, append(way, yamledit.KeyStep("patch")), render.FieldNode(n, "patch").Value, render.FieldNode(n, "target") != nil})
	case n.Kind == yaml.ScalarNode:
		return r.text(inlinePatch{r.unit.File, i, way, n.Value, false})
	}
	return false, nil
}

// stepsOf cuts spec.patches[0].patch into its steps.
func stepsOf(at string) yamledit.Path {
	var out yamledit.Path
	for _, part := range strings.FieldsFunc(at, func(r rune) bool { return r == '.' || r == ']' }) {
		name, index, isItem := strings.Cut(part, "[")
		if name != "" {
			out = append(out, yamledit.KeyStep(name))
		}
		if i, err := strconv.Atoi(index); isItem && err == nil {
			out = append(out, yamledit.ItemStep(i))
		}
	}
	return slices.Clip(out)
}
