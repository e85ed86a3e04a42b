package fix

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/lint/yamledit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// removeEverywhere takes the field out of the manifest and of everything that puts it back.
func (m *planner) removeEverywhere(ctx context.Context, f finding) (Fix, error) {
	o, err := m.object(ctx, f)
	if err != nil {
		return Fix{}, err
	}
	if isScaledToZero(f, o) {
		return Fix{}, errOff
	}
	r := m.remover(f, o)
	if err := r.all(); err != nil {
		return Fix{}, err
	}
	want := intent{path: f.Path, in: f.at, resource: f.at, meant: m.alike(f, o)}
	if err := m.accept(ctx, r.tree, want); err != nil {
		return Fix{}, err
	}
	return m.removed(f, r.files), nil
}

func (m *planner) remover(f finding, o render.Object) *remover {
	return &remover{unit: m.Discovery.Units[f.at], object: o, path: f.Path, tree: m.tree.clone(), names: namesOf(m.tree, o), laid: map[string]bool{}}
}

func (m *planner) removed(f finding, files []string) Fix {
	slices.Sort(files)
	c := Fix{Files: files, What: fmt.Sprintf("remove %s of %s from %s", fieldName(f.Path), f.Object, joinNames(files)), Why: f.Message}
	if isReplicas(f.Rule) {
		c.First = m.handover(f)
	}
	return c
}

// removeEmpty takes the field out where it holds nothing. What it holds would be lost otherwise.
func (m *planner) removeEmpty(ctx context.Context, f finding) (Fix, error) {
	o, err := m.object(ctx, f)
	if err != nil {
		return Fix{}, err
	}
	if v, _ := field.ValueAt(o.Data, f.Path); v != nil {
		if list, ok := v.([]any); !ok || len(list) > 0 {
			return Fix{}, fmt.Errorf("%s is not empty: what it says may be wanted elsewhere", fieldName(f.Path))
		}
	}
	return m.removeEverywhere(ctx, f)
}

// alike says of which objects the field may go as well: of those that have the same finding. A field whose value is what is wrong goes
// from everything that is made of the same document.
func (m *planner) alike(f finding, made render.Object) func(int, render.Object) error {
	had, _ := field.ValueAt(made.Data, f.Path)
	return func(at int, o render.Object) error {
		if at == f.at && m.namespaced(at, o) == f.Object {
			return nil
		}
		u := m.Discovery.Units[at]
		if !isReplicas(f.Rule) {
			v, _ := field.ValueAt(o.Data, f.Path)
			if o.Data.GVK() == made.Data.GVK() && o.File == made.File && o.Line == made.Line && field.EqualValues(v, had) {
				return nil
			}
			return fmt.Errorf("%s of %s would lose %s, which is not wrong there", m.namespaced(at, o), u.Name(), fieldName(f.Path))
		}
		id := m.namespaced(at, o)
		for _, g := range m.check(at) {
			if g.Unit == u.Name() && g.Object == id && g.Path.Equals(f.Path) && isReplicas(g.Rule) && g.Severity != rules.Warning {
				return nil
			}
		}
		return fmt.Errorf("%s of %s would lose %s too, and is not autoscaled there", id, u.Name(), fieldName(f.Path))
	}
}

// removeHere takes the field out of what the unit alone reads, and out of what it inherits by a patch of its own.
func (m *planner) removeHere(ctx context.Context, f finding) (Fix, error) {
	u := m.Discovery.Units[f.at]
	file, err := render.KustomizationFile(m.tree, path.Clean(u.App.Path))
	if err != nil || file == "" {
		return Fix{}, errInapplicable
	}
	o, err := m.object(ctx, f)
	if err != nil {
		return Fix{}, err
	}
	if isScaledToZero(f, o) {
		return Fix{}, errInapplicable
	}
	r := m.remover(f, o)
	r.may = m.own(f.at)
	if !r.may(file) {
		return Fix{}, fmt.Errorf("%s is not %s's alone", file, u.Name())
	}
	if err := r.all(); err != nil {
		return Fix{}, err
	}
	if err := r.unset(file); err != nil {
		return Fix{}, err
	}
	want := intent{path: f.Path, in: f.at, resource: f.at, meant: m.alike(f, o)}
	if err := m.accept(ctx, r.tree, want); err != nil {
		return Fix{}, err
	}
	c := m.removed(f, r.files)
	why := "others build on the same base without an autoscaler"
	if from, remote := upstream.AddressOf(o.File); remote {
		why = "it comes from " + from.String() + "; the lasting fix is upstream"
	}
	c.What = fmt.Sprintf("unset %s of %s in %s, since %s", fieldName(f.Path), f.Object, file, why)
	return c, nil
}

// own reports which files no other unit reads, or may read if it could be rendered, and no other repository holds.
func (m *planner) own(at int) func(string) bool {
	return func(file string) bool {
		if upstream.RepositoryRoot(file) != "" {
			return false
		}
		for i, u := range m.Discovery.Units {
			if i != at && (slices.Contains(u.Reads, file) || m.mayRead(i, file)) {
				return false
			}
		}
		return true
	}
}

// unset adds a patch to a kustomization that takes the field away (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches).
func (r *remover) unset(file string) error {
	lines := []string{"apiVersion: " + r.object.Data.APIVersion(), "kind: " + r.object.Data.GVK().Kind, "metadata:", "  name: " + r.names[len(r.names)-1]}
	for i, e := range r.path {
		if e.FieldName == nil {
			return errInapplicable
		}
		line := strings.Repeat("  ", i) + *e.FieldName + ":"
		if i+1 == len(r.path) {
			line += " null"
		}
		lines = append(lines, line)
	}
	patch := yamledit.Map{{Key: "patch", Value: strings.Join(lines, "\n") + "\n"}}
	docs, err := r.nodes(file)
	if err != nil || len(docs) == 0 {
		return errors.Join(err, errInapplicable)
	}
	if render.FieldNode(docs[0], "patches") != nil {
		return r.edit(file, yamledit.Edit{Path: yamledit.KeyPath("patches"), Action: yamledit.Append, Value: patch})
	}
	return r.edit(file, yamledit.Edit{Path: yamledit.KeyPath("patches"), Action: yamledit.Add, Value: []any{patch}})
}

func pointerTo(p field.Path) (string, bool) {
	out := field.Pointer{}
	for _, e := range p {
		if e.FieldName == nil {
			return "", false
		}
		out = append(out, *e.FieldName)
	}
	return out.String(), true
}

func fieldName(p field.Path) string { return strings.TrimPrefix(field.PathString(p), ".") }

func isReplicas(rule string) bool {
	return rule == replicasAutoscaled || rule == replicasPutBack || rule == gitOutside
}

// errOff says that a workload is turned off, which is no conflict: at 0 an autoscaler stands still.
var errOff = errors.New("in Git it is 0, at which the autoscaler stands still: only you know whether it is to run")

// isScaledToZero reports whether Git turns a workload off.
func isScaledToZero(f finding, o render.Object) bool {
	v, _ := field.ValueAt(o.Data, f.Path)
	n, whole := field.WholeNumber(v)
	return isReplicas(f.Rule) && whole && n == 0
}
