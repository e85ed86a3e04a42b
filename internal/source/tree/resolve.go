package tree

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// linkMode says what resolve does with a link at the end of a path.
type linkMode string

const (
	follow linkMode = "follow"
	stay   linkMode = "stay"
)

// mostLinks is Linux's limit of links in one path.
const mostLinks = 40

// walk is a path being resolved: where it stands, and the steps to go.
type walk struct {
	op, name string // of the call, for errors
	at       []*node
	rest     []string
	link     string // the last one followed
	hops     int
}

// resolve finds the node at name and its path without links. Links are followed inside the tree only.
func (t *Tree) resolve(op, name string, end linkMode) (string, *node, error) {
	if !fs.ValidPath(name) {
		return "", nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	w := &walk{op: op, name: name, at: []*node{t.root}, rest: strings.Split(name, "/")}
	for len(w.rest) > 0 {
		step := w.rest[0]
		w.rest = w.rest[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			if len(w.at) == 1 {
				return "", nil, w.fail(source.PathEscape, "the link %s leads out of the tree", w.link)
			}
			w.at = w.at[:len(w.at)-1]
			continue
		}
		if err := t.enter(w, step, end); err != nil {
			return "", nil, err
		}
	}
	return w.path(), w.here(), nil
}

// enter takes one step down.
func (t *Tree) enter(w *walk, step string, end linkMode) error {
	next := w.here().child(step)
	switch {
	case next == nil:
		return &fs.PathError{Op: w.op, Path: w.name, Err: fs.ErrNotExist}
	case next.mode&fs.ModeSymlink != 0 && (len(w.rest) > 0 || end == follow):
		return t.through(w, next)
	case next.mode&fs.ModeIrregular != 0 && (len(w.rest) > 0 || end == follow):
		w.at = append(w.at, next)
		return w.fail(source.NotSupported, "%s is a submodule; its files are read only where spec.recurseSubmodules of a GitRepository asks for it, and .gitmodules names its URL", w.path())
	}
	w.at = append(w.at, next)
	return nil
}

// through replaces a link by its target.
func (t *Tree) through(w *walk, link *node) error {
	w.link = path.Join(w.path(), link.name)
	if w.hops++; w.hops > mostLinks {
		return w.fail(source.PathEscape, "the link %s is one of a loop, or of more than %d", w.link, mostLinks)
	}
	target, err := t.target(link)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || target == "" {
		return w.fail(source.PathEscape, "the link %s leads out of the tree", w.link)
	}
	w.rest = append(strings.Split(target, "/"), w.rest...)
	return nil
}

const longestTarget = 4096

func (t *Tree) target(link *node) (string, error) {
	if link.size > longestTarget {
		return "", limitError("a link's target is longer than %d bytes", longestTarget)
	}
	data, err := t.blob(link)
	return string(data), err
}

func (w *walk) here() *node { return w.at[len(w.at)-1] }

func (w *walk) path() string {
	names := make([]string, 0, len(w.at))
	for _, n := range w.at {
		names = append(names, n.name)
	}
	return path.Join(names...)
}

func (w *walk) fail(reason source.Reason, format string, args ...any) error {
	return &source.Error{Op: w.op, Subject: w.name, Reason: reason, Err: fmt.Errorf(format, args...)}
}
