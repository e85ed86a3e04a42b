// Package yamledit answers: which bytes of a YAML file change so that its tree changes so?
//
// In: a file of YAML or JSON, and edits of its documents' trees.
// Out: the file with as few bytes changed as there can be: comments, blank lines, quotes, indentation, line endings and order stay.
// Promise: pure; what comes out has been parsed again, and every document of it is exactly what was asked for, or there is an error and no file.
// Not here: which edit is right (fix), reading and writing files (lint).
package yamledit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Edit is one change of one document.
type Edit struct {
	// Document counts the documents of the file from 0. Empty ones do not count.
	Document int
	// Path leads to what is changed. The last step of an Add is the new key; the path of an Append is the list's.
	Path   Path
	Action Action
	// Value is what is put there: a string, bool, int, int64, float64 or nil; of Add and Append also a Map, or a []any of all these.
	Value any
	// Left says what becomes of a map or a list from which Remove takes the last that is in it.
	WhenEmpty WhenEmpty
}

// Action is what is done at the path. The zero value is unknown.
type Action string

// What can be done.
const (
	Remove Action = "remove" // the key with its value, or the list item
	Set    Action = "set"    // another value for a scalar
	Add    Action = "add"    // a new key, behind the others of its map
	Append Action = "append" // a new item, behind the others of the list
)

// WhenEmpty is what becomes of an emptied map or list. The zero value is unknown.
type WhenEmpty string

// What can become of it.
const (
	KeepEmpty   WhenEmpty = "empty" // {} or [] stays
	RemoveEmpty WhenEmpty = "gone"  // it goes too, with its key or as an item, and so on upwards; of a whole document {} or [] stays
)

// Map is a map in the order in which it is to be written.
type Map []Entry

// Entry is one key of a Map with its value.
type Entry struct {
	Key   string
	Value any
}

// Path leads from the top of a document to one node.
type Path []Step

// Step is a key of a map, or the position of a list's item.
type Step struct {
	key   string
	index int // from 1; 0 for a key
}

// KeyStep is the step to a map's key.
func KeyStep(name string) Step { return Step{key: name} }

// ItemStep is the step to a list's item, counted from 0.
func ItemStep(i int) Step { return Step{index: i + 1} }

// KeyPath is the path of nested keys.
func KeyPath(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i] = KeyStep(n)
	}
	return p
}

// String prints a path as people read it: .spec.containers[0].image.
func (p Path) String() string {
	if len(p) == 0 {
		return "."
	}
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.index > 0:
			b.WriteString("[" + strconv.Itoa(s.index-1) + "]")
		case s.key == "" || strings.ContainsAny(s.key, ".[]/ \""):
			b.WriteString("[" + strconv.Quote(s.key) + "]")
		default:
			b.WriteString("." + s.key)
		}
	}
	return b.String()
}

// The kinds of refusal that a caller may want to distinguish.
var (
	// ErrAbsent says that the path leads nowhere.
	ErrAbsent = errors.New("there is no such field")
	// ErrShared says that what is to be changed is written once and used in several places, by an anchor or a merge key.
	ErrShared = errors.New("it is shared by an anchor, an alias or a merge key")
	// ErrForm says that the file is written in a form that this package does not splice.
	ErrForm = errors.New("it is written in a form that is not edited")
)

// ApplyEdits makes the edits, each on what the ones before it left, and returns the new file. The name distinguishes JSON (.json) from YAML; its
// errors begin with it.
func ApplyEdits(name string, data []byte, edits ...Edit) ([]byte, error) {
	for _, e := range edits {
		next, err := applyEdit(name, data, e)
		if err != nil {
			return nil, fmt.Errorf("edit %s: %s: %w", name, e.Path, err)
		}
		data = next
	}
	return data, nil
}

func applyEdit(name string, data []byte, e Edit) ([]byte, error) {
	t, err := parseText(name, data)
	if err != nil {
		return nil, err
	}
	want, err := applyToTrees(t.trees(), e)
	if err != nil {
		return nil, err
	}
	cuts, err := t.edit(e)
	if err != nil {
		return nil, err
	}
	out := t.cut(cuts)
	got, err := parseText(name, out)
	if err != nil {
		return nil, fmt.Errorf("%w (after the edit: %w)", ErrForm, err)
	}
	if !sameTrees(got.trees(), want) {
		return nil, fmt.Errorf("%w (the edit would change something else)", ErrForm)
	}
	return out, nil
}

// edit finds the bytes to change.
func (t *text) edit(e Edit) ([]replacement, error) {
	top, err := t.document(e.Document)
	if err != nil {
		return nil, err
	}
	path := e.Path
	if e.Action == Add {
		if len(path) == 0 || path[len(path)-1].index > 0 {
			return nil, fmt.Errorf("%w: the last step of an addition is its key", ErrAbsent)
		}
		path = path[:len(path)-1]
	}
	at, err := t.locate(top, path)
	if err != nil {
		return nil, err
	}
	switch e.Action {
	case Remove:
		return t.remove(at, e.WhenEmpty)
	case Set:
		return t.set(at, e.Value)
	case Add:
		return t.add(at, addition{key: e.Path[len(e.Path)-1].key, kind: yaml.MappingNode, value: e.Value})
	case Append:
		return t.add(at, addition{kind: yaml.SequenceNode, value: e.Value})
	}
	return nil, fmt.Errorf("%q is nothing that can be done", e.Action)
}
