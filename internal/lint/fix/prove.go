package fix

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/joined"
)

// intent is what an edit is to change: a field that goes from objects, and the custom resource of an app.
type intent struct {
	path field.Path // nil for none
	// becomes is what the field becomes instead; nil where it goes.
	becomes any
	// meant reports whether an object of a unit is one that the change is right for; why not, where it is not.
	meant func(at int, o render.Object) error
	in    int // the unit in which the field must go; -1 for none
	// resource is the unit whose custom resource may change below spec, wherever it is described; -1 for none.
	resource int
}

// accept takes the edits of a tree over, if everything that reads an edited file shows the intended change and nothing else.
func (m *planner) accept(ctx context.Context, next *tree, want intent) error {
	touched := m.touched(next)
	if len(touched) == 0 {
		return errInapplicable
	}
	for _, name := range touched {
		if err := m.tree.editable(name); err != nil {
			return err
		}
	}
	if err := m.unproven(touched); err != nil {
		return err
	}
	units, err := m.reread(ctx, next, touched)
	if err != nil {
		return err
	}
	now, effects, proven := map[int][]render.Object{}, []fixEffect{}, []Proof{}
	for at, u := range units {
		if !slices.ContainsFunc(touched, func(name string) bool { return slices.Contains(u.Reads, name) || name == u.File }) {
			continue
		}
		after, changed, err := m.compared(ctx, at, proof{u, next, want})
		if err != nil {
			return err
		}
		now[at], effects = after, append(effects, changed...)
		proven = append(proven, Proof{Unit: u.Name(), Objects: m.changed(at, after)})
	}
	if want.in >= 0 && !slices.ContainsFunc(effects, func(e fixEffect) bool { return e.at == want.in }) {
		return fmt.Errorf("%s is still there in %s", field.PathString(want.path), m.Discovery.Units[want.in].Name())
	}
	m.proven = proven
	m.tree, m.effects, m.Discovery.Units = next, append(m.effects, effects...), units
	maps.Copy(m.known, now)
	return nil
}

// unproven refuses an edit of a file that a unit may read which cannot be rendered: what the edit would change there is not known.
func (m *planner) unproven(touched []string) error {
	for at, u := range m.Discovery.Units {
		if i := slices.IndexFunc(touched, func(name string) bool { return m.mayRead(at, name) }); i >= 0 {
			return fmt.Errorf("%s may read %s too, and cannot be rendered: %w", u.Name(), touched[i], u.Err)
		}
	}
	return nil
}

// mayRead reports whether a unit that cannot be rendered may read a file; false for one that can, whose Reads say it.
func (m *planner) mayRead(at int, name string) bool {
	u := m.Discovery.Units[at]
	if u.Err == nil {
		return false
	}
	if m.unrendered[at] == nil {
		m.unrendered[at] = u.MayRead(m.Files)
	}
	return m.unrendered[at](name)
}

// touched lists the files in which a tree differs from what was accepted so far.
func (m *planner) touched(next *tree) []string {
	var out []string
	for name, data := range next.edits {
		had, ok := m.tree.edits[name]
		if !ok || string(had) != string(data) || (had == nil) != (data == nil) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// reread returns the units as a tree has them: an app whose custom resource is edited may ask for something else.
func (m *planner) reread(ctx context.Context, next *tree, touched []string) ([]discover.Unit, error) {
	units := slices.Clone(m.Discovery.Units)
	edited := func(u discover.Unit) bool { return u.Dialect != discover.Bare && slices.Contains(touched, u.File) }
	if !slices.ContainsFunc(units, edited) {
		return units, nil
	}
	s, err := m.Again.Rediscover(ctx, next)
	if err != nil {
		return nil, err
	}
	for at, u := range units {
		if !edited(u) {
			continue
		}
		i := slices.IndexFunc(s.Units, func(n discover.Unit) bool { return n.Name() == u.Name() && n.File == u.File })
		if i < 0 {
			return nil, fmt.Errorf("%s could not be found any more", u.Name())
		}
		n := s.Units[i]
		u.App, u.Resource, u.Line, u.Values, u.Chart, u.ChartDirs = n.App, n.Resource, n.Line, n.Values, n.Chart, n.ChartDirs
		units[at] = u
	}
	return units, nil
}

// proof is a unit as it would be, the tree that it would be rendered from, and what may differ then.
type proof struct {
	unit discover.Unit
	tree *tree
	want intent
}

// compared renders a unit, and lists what changes in it.
func (m *planner) compared(ctx context.Context, at int, p proof) ([]render.Object, []fixEffect, error) {
	before, err := m.objects(ctx, at)
	if err != nil {
		return nil, nil, fmt.Errorf("%s reads it too, and cannot be rendered: %w", p.unit.Name(), err)
	}
	after, err := m.rendered(ctx, p.unit, p.tree)
	if err != nil {
		return nil, nil, fmt.Errorf("%s could not be rendered any more: %w", p.unit.Name(), err)
	}
	if len(before) != len(after) {
		return nil, nil, fmt.Errorf("%s would have %d objects, not %d", p.unit.Name(), len(after), len(before))
	}
	var out []fixEffect
	for i, was := range before {
		is := after[i]
		if was.Data.ID() != is.Data.ID() {
			return nil, nil, fmt.Errorf("%s would have other objects, or in another order", p.unit.Name())
		}
		if equalObjects(was.Data, is.Data) || m.isResource(p.want.resource, was) && sameBut(was.Data, is.Data, field.NewPath("spec")) {
			continue
		}
		if !p.want.goes(was.Data, is.Data) {
			return nil, nil, fmt.Errorf("it would change something else in %s of %s", was.Data.ID(), p.unit.Name())
		}
		if err := p.want.meant(at, was); err != nil {
			return nil, nil, err
		}
		out = append(out, fixEffect{at: at, field: m.namespaced(at, was).String() + " " + field.PathString(p.want.path), cure: m.fixes})
	}
	return after, out, nil
}

// changed lists the objects of a unit that are others now than what was accepted so far gives.
func (m *planner) changed(at int, after []render.Object) []object.ID {
	var out []object.ID
	for i, was := range m.known[at] {
		if !equalObjects(was.Data, after[i].Data) {
			out = append(out, m.namespaced(at, was))
		}
	}
	return out
}

// isResource reports whether an object is the custom resource of a unit.
func (m *planner) isResource(unit int, o render.Object) bool {
	if unit < 0 {
		return false
	}
	u := m.Discovery.Units[unit]
	id, own := o.Data.ID(), u.Resource.ID()
	return u.Dialect != discover.Bare && id.Kind == own.Kind && id.Group == own.Group && id.Name == own.Name && o.File == u.File
}

func equalObjects(a, b object.Object) bool { return maps.EqualFunc(a, b, field.EqualValues) }

func sameBut(a, b object.Object, p field.Path) bool {
	a, b = a.Clone(), b.Clone()
	dropLeaf(a, p)
	dropLeaf(b, p)
	return equalObjects(a, b)
}

// goes reports whether the field goes from an object, or becomes what it should, and nothing but it.
func (w intent) goes(was, is object.Object) bool {
	if w.becomes != nil {
		other := was.Clone()
		return field.SetValue(other, w.path, w.becomes) && equalObjects(other, is)
	}
	if _, there := field.ValueAt(is, w.path); there || len(w.path) == 0 {
		return false
	}
	leaf, pruned := was.Clone(), was.Clone()
	dropLeaf(leaf, w.path)
	field.RemoveValue(pruned, w.path)
	return equalObjects(leaf, is) || equalObjects(pruned, is)
}

// dropLeaf takes a field out and leaves what is around it, also if that is empty then.
func dropLeaf(o object.Object, p field.Path) {
	parent, ok := field.ValueAt(o, p[:len(p)-1])
	if m, isMap := parent.(map[string]any); ok && isMap && p[len(p)-1].FieldName != nil {
		delete(m, *p[len(p)-1].FieldName)
		return
	}
	if len(p) == 1 && p[0].FieldName != nil {
		delete(o, *p[0].FieldName)
	}
}

// objects are those that a unit gives with what was accepted so far.
func (m *planner) objects(ctx context.Context, at int) ([]render.Object, error) {
	if objects, ok := m.known[at]; ok {
		return objects, nil
	}
	objects, err := m.rendered(ctx, m.Discovery.Units[at], m.tree)
	if err == nil {
		m.known[at] = objects
	}
	return objects, err
}

// rendered renders a unit as the survey has.
func (m *planner) rendered(ctx context.Context, u discover.Unit, files *tree) ([]render.Object, error) {
	if u.Err != nil {
		return nil, u.Err
	}
	if u.Dialect == discover.Bare && u.Line == 0 {
		return looseObjects(files, u.Reads)
	}
	request, err := u.Request(files)
	if err != nil {
		return nil, err
	}
	result, err := joined.Renderer{Each: m.Render}.Render(ctx, request)
	return result.Objects, err
}

// looseObjects are the objects of manifests that nothing builds.
func looseObjects(files *tree, names []string) ([]render.Object, error) {
	var out []render.Object
	for _, name := range names {
		data, err := files.read(name)
		if err != nil {
			return nil, err
		}
		objects, err := render.Manifests(name, data)
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(objects, render.Object.IsLocal)...)
	}
	return out, nil
}

// namespaced is the name that the survey gives to an object of a unit: rendered, it may be without its namespace.
func (m *planner) namespaced(at int, o render.Object) object.ID {
	id := o.Data.ID()
	for _, s := range m.Discovery.Units[at].Objects {
		if s.ID == id || o.Data.Namespace() == "" && s.ID.Kind == id.Kind && s.ID.Group == id.Group && s.ID.Name == id.Name {
			return s.ID
		}
	}
	return id
}

// object finds the object of a finding as its unit gives it now.
func (m *planner) object(ctx context.Context, f finding) (render.Object, error) {
	all, err := m.objects(ctx, f.at)
	if err != nil {
		return render.Object{}, err
	}
	for _, o := range all {
		if m.namespaced(f.at, o) == f.Object {
			return o, nil
		}
	}
	return render.Object{}, fmt.Errorf("%s is not among what %s gives", f.Object, f.Unit)
}

// unit finds the unit of a finding. Apps of two clusters may bear one name.
func (m *planner) unit(f rules.Finding) (int, bool) {
	for at, u := range m.Discovery.Units {
		if u.Name() == f.Unit && slices.ContainsFunc(m.check(at), func(g rules.Finding) bool { return findingEssence(g) == findingEssence(f) && g.Place == f.Place }) {
			return at, true
		}
	}
	return 0, false
}

// check returns what is wrong with a unit: where another one has its name, without that one.
func (m *planner) check(at int) []rules.Finding {
	if found, ok := m.checked[at]; ok {
		return found
	}
	name := m.Discovery.Units[at].Name()
	s, found := m.Discovery, m.all
	s.Units = nil
	for i, u := range m.Discovery.Units {
		if i == at || u.Name() != name {
			s.Units = append(s.Units, u)
		}
	}
	if len(s.Units) < len(m.Discovery.Units) {
		found = rules.CheckAll(s)
	}
	m.checked[at] = found
	return found
}

// isKustomization reports whether a file is one by its name.
func isKustomization(name string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(name))
}

func joinNames(names []string) string { return strings.Join(names, ", ") }
