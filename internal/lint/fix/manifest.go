package fix

import (
	"context"
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// removeNull takes a key without a value out of a manifest. What renders may have left it out before.
func (m *planner) removeNull(ctx context.Context, f finding) (Fix, error) {
	at, err := m.written(f)
	if err != nil {
		return Fix{}, err
	}
	at.edit.Action, at.edit.WhenEmpty = yamledit.Remove, yamledit.KeepEmpty
	want := intent{path: f.Path, in: -1, resource: -1, meant: func(_ int, o render.Object) error {
		if v, there := field.ValueAt(o.Data, f.Path); !there || v != nil {
			return fmt.Errorf("%s would lose a value", o.Data.ID())
		}
		return nil
	}}
	if err := m.acceptEdit(ctx, at, want); err != nil {
		return Fix{}, err
	}
	return m.removed(f, []string{f.Place.File}), nil
}

// canonical writes a quantity as the API server does.
func (m *planner) canonical(ctx context.Context, f finding) (Fix, error) {
	at, err := m.written(f)
	if err != nil {
		return Fix{}, err
	}
	q, err := resource.ParseQuantity(at.node.Value)
	if err != nil {
		return Fix{}, fmt.Errorf("%s: %w", f.Place, err)
	}
	at.edit.Action, at.edit.Value = yamledit.Set, q.String()
	had, err := render.DecodeValue(f.Place.File, at.node)
	if err != nil {
		return Fix{}, err
	}
	want := intent{path: f.Path, becomes: q.String(), in: -1, resource: -1, meant: func(_ int, o render.Object) error {
		if v, _ := field.ValueAt(o.Data, f.Path); !field.EqualValues(v, had) {
			return fmt.Errorf("%s has another value", o.Data.ID())
		}
		return nil
	}}
	if err := m.acceptEdit(ctx, at, want); err != nil {
		return Fix{}, err
	}
	what := fmt.Sprintf("write %s of %s as the server does, %s", fieldName(f.Path), f.Object, q.String())
	return Fix{Files: []string{f.Place.File}, Why: f.Message, What: what}, nil
}

// manifestSpot is where a finding's field is written.
type manifestSpot struct {
	file string
	node *yaml.Node
	edit yamledit.Edit // its document and path
}

// written finds the field that stands at a finding's place. The edits before may have moved it.
func (m *planner) written(f finding) (manifestSpot, error) {
	data, err := render.ReadFile(m.Files, f.Place.File, maxFile)
	if err != nil {
		return manifestSpot{}, err
	}
	docs, err := render.ParseNodes(f.Place.File, data)
	if err != nil {
		return manifestSpot{}, err
	}
	i, way := findPlace(docs, f.Place)
	if way == nil {
		return manifestSpot{}, fmt.Errorf("nothing is written at %s", f.Place)
	}
	return manifestSpot{file: f.Place.File, node: render.FollowAlias(nodeAtPath(docs[i], way)), edit: yamledit.Edit{Document: i, Path: way}}, nil
}

// findPlace finds the document of a place and the way to the value there, or to the value of the key there.
func findPlace(docs []*yaml.Node, p desired.Place) (int, yamledit.Path) {
	for i, doc := range docs {
		if way, ok := pathToPlace(doc, p.Line, p.Column, nil); ok {
			return i, way
		}
		if way, ok := findKey(doc, p, nil); ok {
			return i, way
		}
	}
	return 0, nil
}

func findKey(n *yaml.Node, p desired.Place, way yamledit.Path) (yamledit.Path, bool) {
	for i, c := range n.Content {
		step := yamledit.ItemStep(i)
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			key := n.Content[i-1]
			step = yamledit.KeyStep(key.Value)
			if key.Line == p.Line && key.Column == p.Column {
				return append(way[:len(way):len(way)], step), true
			}
		}
		if found, ok := findKey(c, p, append(way[:len(way):len(way)], step)); ok {
			return found, true
		}
	}
	return nil, false
}

func (m *planner) acceptEdit(ctx context.Context, at manifestSpot, want intent) error {
	data, err := m.tree.read(at.file)
	if err != nil {
		return err
	}
	next := m.tree.clone()
	if next.edits[at.file], err = yamledit.ApplyEdits(at.file, data, at.edit); err != nil {
		return err
	}
	return m.accept(ctx, next, want)
}
