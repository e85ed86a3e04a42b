package discover

import (
	"slices"
	"strings"
)

// cover is what some units read, or would read if they could be rendered.
type cover struct {
	reads  map[string]bool
	dirs   map[string]bool
	failed []string
}

func (t *finder) cover(which func(*wanted) bool) cover {
	c := cover{reads: map[string]bool{}, dirs: map[string]bool{}}
	for _, w := range t.wanted {
		if !which(w) {
			continue
		}
		if w.unit.Dialect != Bare && (w.unit.App.Release == nil || w.done) {
			for _, dir := range w.unit.Paths() {
				c.dirs[dir] = true
			}
		}
		for _, name := range w.unit.Reads {
			c.reads[name] = true
		}
		if w.unit.Err != nil {
			c.failed = append(c.failed, w.unit.Paths()...)
		}
	}
	return c
}

func (c cover) root(r *root) bool { return c.dirs[r.dir] || c.file(r.file) }

func (c cover) file(name string) bool {
	return c.reads[name] || slices.ContainsFunc(c.failed, func(dir string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") })
}

// below reports whether a file in the directory is read.
func (c cover) below(dir string) bool {
	for name := range c.reads {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// sweep marks what is there in the end. A custom resource that an overlay changes is not an app in the form in which it stands in its
// file, nor is what was found through that form alone; and a root that an app covers is no bare one.
func (t *finder) sweep() {
	var first []*wanted
	for _, w := range t.wanted {
		if w.unit.Dialect != Bare && w.written {
			first = append(first, t.instead(w)...)
		}
	}
	t.keep(first)
	t.keepBare(func(w *wanted) bool { return t.describes(w) })
	t.keepBare(func(*wanted) bool { return true })
	all := t.everything()
	for _, w := range t.wanted {
		if w.unit.Dialect != Bare && len(w.by) == 0 && all.reads[w.unit.File] {
			w.kept = false // a patch, or what else a unit makes something of
		}
	}
}

// keepBare keeps the bare roots that no app covers which is there by now. Those that describe apps come first.
func (t *finder) keepBare(which func(*wanted) bool) {
	apps := t.everything()
	for _, w := range t.wanted {
		if w.unit.Dialect == Bare && which(w) && !apps.root(&root{dir: w.unit.App.Path, file: w.unit.File}) {
			t.keep([]*wanted{w})
		}
	}
}

func (t *finder) describes(w *wanted) bool {
	return slices.ContainsFunc(t.wanted, func(o *wanted) bool { return slices.Contains(o.by, w) })
}

// instead returns the app as it is, or what it becomes: nothing where another app describes it, since it is found there.
func (t *finder) instead(w *wanted) []*wanted {
	var others []*wanted
	for _, o := range t.wanted {
		if o != w && o.unit.Dialect != Bare && o.unit.File == w.unit.File && o.unit.Line == w.unit.Line && o.digest != w.digest && len(o.by) > 0 {
			others = append(others, o)
		}
	}
	if len(others) == 0 {
		return []*wanted{w}
	}
	for _, o := range others {
		if slices.ContainsFunc(o.by, func(by *wanted) bool { return by != w && !slices.Contains(others, by) }) {
			return nil
		}
	}
	return others
}

// keep keeps these and all that they describe.
func (t *finder) keep(these []*wanted) {
	for _, w := range these {
		if w.kept {
			continue
		}
		w.kept = true
		var described []*wanted
		for _, o := range t.wanted {
			if slices.Contains(o.by, w) {
				described = append(described, o)
			}
		}
		t.keep(described)
	}
}
