package discover

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// unread is what asks for something in a way that is not looked into.
type unread struct {
	Skipped
	described bool // a unit describes it; what only stands in a file that a unit reads is a patch, or the like
}

// leave notes a custom resource that is not looked into, and why; nothing where it is.
func (t *finder) leave(d document, of Dialect, by *wanted, why string) {
	if why == "" {
		return
	}
	id := d.object.ID()
	what := id.Kind + " " + id.Name
	key := fmt.Sprint(d.file, d.line, what)
	t.unread[key] = unread{
		Skipped:   Skipped{File: d.file, Line: d.line, What: what, Dialect: of, Why: id.Kind + " is " + why},
		described: by != nil || t.unread[key].described,
	}
}

// explain notes what was not looked into, where it stands.
func (t *finder) explain(s Skipped) {
	s.Dialect = Bare
	t.unread[fmt.Sprint(s.File, s.Line, s.What)] = unread{Skipped: s, described: true}
}

// givers names the units that hold the custom resource.
func (w *wanted) givers() []string {
	var out []string
	for _, by := range w.by {
		if by.kept {
			out = append(out, by.unit.Name())
		}
	}
	return out
}

// discovery puts together what was found.
func (t *finder) discovery() Discovery {
	s := Discovery{Files: t.files, Skipped: t.scan.skipped}
	for _, w := range t.wanted {
		if !w.kept {
			continue
		}
		if left := t.elsewhere(w); left.Why != "" {
			s.Skipped = append(s.Skipped, left)
			continue
		}
		w.unit.By = append(w.unit.By, w.givers()...)
		slices.Sort(w.unit.By)
		s.Units = append(s.Units, w.unit)
		for _, k := range t.partly(w.unit) {
			k.Dialect = w.unit.Dialect
			s.Skipped = append(s.Skipped, k)
		}
	}
	why, taken := t.assumptions()
	s.Assumed, s.Taken = append(s.Assumed, why...), taken
	all := t.everything()
	for _, u := range t.unread {
		if u.described || !all.reads[u.File] {
			s.Skipped = append(s.Skipped, u.Skipped)
		}
	}
	for _, k := range t.leftOver(s) {
		k.Dialect = Bare
		s.Skipped = append(s.Skipped, k)
	}
	slices.SortFunc(s.Units, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.App.Path, b.App.Path))
	})
	slices.SortFunc(s.Skipped, inOrder)
	s.Skipped = slices.Compact(s.Skipped)
	return s
}

// partly says what of a unit was not looked into.
func (t *finder) partly(u Unit) []Skipped {
	var out []Skipped
	if u.Err != nil {
		one := brokenFile(u.File, u.Err)
		one.What, one.Why = u.Name(), strings.TrimPrefix(one.Why, "render "+u.App.Path+": ")
		one.Reason = lastCause(one.Why)
		if one.File == u.File && one.Line == 0 {
			one.Line = u.Line
		}
		if at := t.missed(u, one.Why); at != nil {
			one.Broken, one.Why, one.Reason = false, one.Why+"; "+at.dir+" is "+at.why, at.Reason
		}
		return append(out, one.here(u, t.files))
	}
	out = append(out, u.Repeated...)
	for _, o := range t.includes(u.App) {
		out = append(out, o.Skipped)
	}
	for _, ref := range u.Unvalued {
		why := "it has no values in this repository: its variables are looked at as they stand in the files"
		if u.App.Release != nil {
			why = "it has no values in this repository: the chart is rendered without them"
		}
		out = append(out, Skipped{File: u.File, Line: u.Line, What: u.Name() + " " + u.unvaluedAt() + ": " + ref.Kind + " " + ref.Name, Why: why})
	}
	if u.App.Decryption.IsSet() {
		why := "encrypted values are looked at as they stand in the files"
		out = append(out, Skipped{File: u.File, Line: u.Line, What: u.Name() + " spec.decryption", Why: why})
	}
	return out
}

// leftOver says what is in the tree and in no unit.
func (t *finder) leftOver(s Discovery) []Skipped {
	var out []Skipped
	all := t.everything()
	for _, dir := range t.scan.charts {
		if all.dirs[dir] || all.below(dir) {
			continue
		}
		out = append(out, Skipped{File: path.Join(dir, chartFile), What: "Helm chart", Why: "no app of this repository renders it with values"})
	}
	for _, m := range t.scan.modules {
		out = append(out, m.Skipped)
	}
	out = append(out, t.unreadable(s)...)
	for _, dir := range t.scan.asides {
		if !all.below(dir) {
			out = append(out, Skipped{File: dir, What: "directory", Why: "apps are not looked for where the name says archive, test data or hidden"})
		}
	}
	for _, r := range t.roots.all {
		if r.component && !r.included && !all.file(r.file) {
			out = append(out, Skipped{File: r.file, What: "Component", Why: "no kustomization includes it"})
		}
	}
	return out
}

// unreadable are the files that could not be read, but those that a unit reports already.
func (t *finder) unreadable(s Discovery) []Skipped {
	reported := map[string]bool{}
	for _, u := range s.Units {
		if u.Err != nil {
			reported[brokenFile(u.File, u.Err).File] = true
		}
	}
	var out []Skipped
	for _, d := range t.scan.dirs {
		for _, name := range d.manifests {
			if b := t.pages[name].broken; b != nil && !reported[name] {
				out = append(out, *b)
			}
		}
	}
	return out
}

// lastCause is what an error says last: what it has in common with others of its kind.
func lastCause(why string) string {
	if strings.HasSuffix(why, noDirectory) {
		return "it is read at a directory that does not exist"
	}
	if i := strings.LastIndex(why, ": "); i >= 0 {
		return why[i+2:]
	}
	return why
}

func (t *finder) everything() cover { return t.cover(func(w *wanted) bool { return w.kept }) }

// plain makes a unit of each directory of manifests that neither a kustomization nor an app covers.
func (t *finder) plain() {
	cover := t.everything()
	for _, d := range t.scan.dirs {
		names := slices.DeleteFunc(slices.Clone(d.manifests), func(name string) bool {
			p := t.pages[name]
			return !p.objects || p.broken != nil || cover.file(name) || t.roots.named[name]
		})
		if d.file == "" {
			t.directory(d.path, names)
			continue
		}
		for _, name := range names {
			t.explain(Skipped{File: name, What: "manifest", Why: "neither an app nor the kustomization beside it names it"})
		}
	}
}

func (t *finder) directory(dir string, names []string) {
	u := Unit{Dialect: Bare, App: app.App{Key: app.Key{Name: dir}, Path: dir, Layout: app.PlainLayout}, File: dir}
	var all []render.Object
	for _, name := range names {
		found := t.manifest(name)
		if len(found) > 0 {
			u.Reads = append(u.Reads, name)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return
	}
	u.Objects, u.Repeated, u.Err = namespacedObjects(t.unique(all), u.App)
	w := &wanted{unit: u, done: true, kept: true}
	t.wanted = append(t.wanted, w)
	for _, o := range u.Objects {
		d := document{file: o.File, line: o.Line, object: o.Data}
		if k, known := t.kind(o.GVK); known && k.Apps == nil {
			_, why := t.expand(d, k)
			t.leave(d, k.Dialect, w, why)
		}
	}
}

// otherDocument begins what render says of a document that is no object, such as the configuration of another program.
const otherDocument = "not a Kubernetes object"

// manifest decodes the objects of one file. A document that is no object is none of an app's: it is another program's, or has no name yet.
func (t *finder) manifest(name string) []render.Object {
	data, err := render.ReadFile(t.files, name, render.Limits{}.OrDefault().FileBytes)
	var nodes []*yaml.Node
	if err == nil {
		nodes, err = render.ParseNodes(name, data)
	}
	if err != nil {
		t.explain(*unreadable(name, data, err))
		return nil
	}
	var out []render.Object
	for _, n := range nodes {
		found, err := render.Document(name, n)
		if err != nil {
			one := *unreadable(name, data, err)
			one.What = documentWhat
			if strings.HasPrefix(one.Why, otherDocument) {
				one.Broken, one.NoObject, one.Reason = false, !mayMakePods(n), otherDocument
			}
			t.explain(one)
		}
		out = append(out, slices.DeleteFunc(found, render.Object.IsLocal)...)
	}
	return out
}

// mayMakePods reports whether a document that is no object may become a workload, or a list of some, once something names it.
func mayMakePods(n *yaml.Node) bool {
	kind, spec := render.FieldNode(n, "kind"), render.FieldNode(n, "spec")
	if kind == nil || render.FieldNode(n, "apiVersion") == nil {
		return false
	}
	return kind.Value == "Pod" || render.FieldNode(n, "items") != nil || render.FieldNode(spec, "template") != nil || render.FieldNode(spec, "jobTemplate") != nil
}

// unique leaves out what describes an object a second time: the files of the directory need not be applied together.
func (t *finder) unique(all []render.Object) []render.Object {
	first := map[object.ID]render.Object{}
	return slices.DeleteFunc(all, func(r render.Object) bool {
		f, there := first[r.Data.ID()]
		if there {
			t.explain(Skipped{
				File: r.File, Line: r.Line, What: r.Data.ID().String(), Why: fmt.Sprintf("is already at %s:%d, and looked at there", f.File, f.Line),
				Variant: true, Reason: "another file describes the same object, and is looked at",
			})
			return true
		}
		first[r.Data.ID()] = r
		return false
	})
}
