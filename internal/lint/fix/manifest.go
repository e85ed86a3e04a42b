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
func (m *mender) removeNull(ctx context.Context, f finding) (Cure, error) {
	at, err := m.written(f)
	if err != nil {
		return Cure{}, err
	}
	at.edit.Do, at.edit.Left = yamledit.Remove, yamledit.Empty
	want := intent{path: f.Path, in: -1, resource: -1, meant: func(_ int, o render.Object) error {
		if v, there := field.ValueAt(o.Data, f.Path); !there || v != nil {
			return fmt.Errorf("%s would lose a value", o.Data.ID())
		}
		return nil
	}}
	if err := m.spliced(ctx, at, want); err != nil {
		return Cure{}, err
	}
	return m.removed(f, []string{f.Place.File}), nil
}

// canonical writes a quantity as the API server does.
func (m *mender) canonical(ctx context.Context, f finding) (Cure, error) {
	at, err := m.written(f)
	if err != nil {
		return Cure{}, err
	}
	q, err := resource.ParseQuantity(at.node.Value)
	if err != nil {
		return Cure{}, fmt.Errorf("%s: %w", f.Place, err)
	}
	at.edit.Do, at.edit.Value = yamledit.Set, q.String()
	had, err := render.Value(f.Place.File, at.node)
	if err != nil {
		return Cure{}, err
	}
	want := intent{path: f.Path, becomes: q.String(), in: -1, resource: -1, meant: func(_ int, o render.Object) error {
		if v, _ := field.ValueAt(o.Data, f.Path); !field.EqualValues(v, had) {
			return fmt.Errorf("%s has another value", o.Data.ID())
		}
		return nil
	}}
	if err := m.spliced(ctx, at, want); err != nil {
		return Cure{}, err
	}
	what := fmt.Sprintf("write %s of %s as the server does, %s", name(f.Path), f.Object, q.String())
	return Cure{Files: []string{f.Place.File}, Why: f.Message, What: what}, nil
}

// spot is where a finding's field is written.
type spot struct {
	file string
	node *yaml.Node
	edit yamledit.Edit // its document and path
}

// written finds the field that stands at a finding's place. The edits before may have moved it.
func (m *mender) written(f finding) (spot, error) {
	data, err := render.ReadFile(m.Files, f.Place.File, maxFile)
	if err != nil {
		return spot{}, err
	}
	docs, err := render.Nodes(f.Place.File, data)
	if err != nil {
		return spot{}, err
	}
	i, way := placed(docs, f.Place)
	if way == nil {
		return spot{}, fmt.Errorf("nothing is written at %s", f.Place)
	}
	return spot{file: f.Place.File, node: render.Follow(follow(docs[i], way)), edit: yamledit.Edit{Document: i, Path: way}}, nil
}

// placed finds the document of a place and the way to the value there, or to the value of the key there.
func placed(docs []*yaml.Node, p desired.Place) (int, yamledit.Path) {
	for i, doc := range docs {
		if way, ok := leadTo(doc, p.Line, p.Column, nil); ok {
			return i, way
		}
		if way, ok := keyAt(doc, p, nil); ok {
			return i, way
		}
	}
	return 0, nil
}

func keyAt(n *yaml.Node, p desired.Place, way yamledit.Path) (yamledit.Path, bool) {
	for i, c := range n.Content {
		step := yamledit.Item(i)
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			key := n.Content[i-1]
			step = yamledit.Key(key.Value)
			if key.Line == p.Line && key.Column == p.Column {
				return append(way[:len(way):len(way)], step), true
			}
		}
		if found, ok := keyAt(c, p, append(way[:len(way):len(way)], step)); ok {
			return found, true
		}
	}
	return nil, false
}

func (m *mender) spliced(ctx context.Context, at spot, want intent) error {
	data, err := m.tree.read(at.file)
	if err != nil {
		return err
	}
	next := m.tree.clone()
	if next.edits[at.file], err = yamledit.Apply(at.file, data, at.edit); err != nil {
		return err
	}
	return m.accept(ctx, next, want)
}
