// Package schema answers: which fields can an object of this kind have, and what identifies the items of its lists?
//
// In: a kind; CRDs, for kinds of their own.
// Out: Types: the fields of a record, the items of a list or map and their keys.
// Promise: pure, and without a cluster; what is not known is Any, never wrong.
// Not here: whether a value is allowed (validate), which versions a cluster serves (cluster).
package schema

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

//go:generate go run ./gen
//go:generate go run -C ../../../sandbox ./internal/defaults ../internal/model/schema/defaults.txt ../internal/model/schema/optional.txt

// kinds are the kinds of Kubernetes 1.37, a line for each kind, type and field:
//
//	kind VERSION KIND TYPE
//	type NAME
//	 FIELD TYPE
//
// TYPE is a name; string, number, boolean, quantity or any; []TYPE for a list that is one value, [=]TYPE for a set, [KEY,KEY]TYPE for a
// list whose items have keys; {}TYPE for a map; !TYPE for a map or record that has one owner.
//
//go:embed kinds.txt
var kinds string

// Form is what a Type is. The zero value is Any.
type Form string

// The forms.
const (
	Any      Form = ""         // nothing is known
	Record   Form = "record"   // a map with certain fields
	Map      Form = "map"      // a map with any keys
	List     Form = "list"     // owned as a whole
	Set      Form = "set"      // each value once
	Keyed    Form = "keyed"    // each item has keys, which no other has
	Scalar   Form = "scalar"   // a text, a number, a boolean
	Quantity Form = "quantity" // of a resource: 100m, 1Gi
)

// ScalarKind is what a Scalar holds. The zero value is unknown.
type ScalarKind string

// The kinds of scalars.
const (
	String  ScalarKind = "string"
	Number  ScalarKind = "number"
	Boolean ScalarKind = "boolean"
)

// Type says what may stand in a place. It does not change, and may be used concurrently.
type Type struct {
	form   Form
	scalar ScalarKind
	keys   []string
	item   *Type
	fields map[string]*Type
	filled map[string][]any // what the server fills in where a field is not named; nil for a record of such fields
	open   bool             // further fields are kept
	atomic bool
}

// Form is what the type is; Any of no type at all.
func (t *Type) Form() Form {
	if t == nil {
		return Any
	}
	return t.form
}

// Scalar is what a Scalar holds, where that is known; empty for all else.
func (t *Type) Scalar() ScalarKind {
	if t == nil {
		return ""
	}
	return t.scalar
}

// Item is the type of the items of a list or a map.
func (t *Type) Item() *Type {
	if t == nil {
		return nil
	}
	return t.item
}

// Keys are the fields that identify the items of a Keyed list.
func (t *Type) Keys() []string {
	if t == nil {
		return nil
	}
	return t.keys
}

// Atomic reports whether the value has one owner, who owns all that is in it (structured-merge-diff's atomic maps and lists).
func (t *Type) Atomic() bool { return t != nil && (t.atomic || t.form == List) }

// Field returns the type of a field, and whether there is such a field. What keeps any field has all.
func (t *Type) Field(name string) (*Type, bool) {
	switch t.Form() {
	case Any:
		return nil, true
	case Map:
		return t.item, true
	default:
		f, ok := t.fields[name]
		return f, ok || t.open
	}
}

// Fields lists the fields of a Record by name.
func (t *Type) Fields() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.fields))
}

// Kinds are all kinds that are known.
type Kinds struct {
	kinds   map[object.GVK]*Type
	defined map[object.GVK]string // by a CRD: the text of its schema
	named   map[string]*Type
}

// Builtin returns the kinds of Kubernetes' own.
func Builtin() *Kinds {
	k := &Kinds{kinds: map[object.GVK]*Type{}, defined: map[object.GVK]string{}, named: map[string]*Type{}}
	var current *Type
	for line := range strings.Lines(kinds) {
		line = strings.TrimSuffix(line, "\n")
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			current.fields[words[0]] = k.read(words[1])
		case words[0] == "type":
			current = k.record(words[1])
		default:
			k.kinds[definedKind(words[1], words[2])] = k.record(words[3])
		}
	}
	k.fill()
	return k
}

// Metadata is the type of the metadata that objects of every kind have.
func (k *Kinds) Metadata() *Type { return k.record("meta.v1.ObjectMeta") }

func definedKind(apiVersion, kind string) object.GVK {
	return object.Object{"apiVersion": apiVersion, "kind": kind}.GVK()
}

// record returns the type of that name, whose fields may follow later.
func (k *Kinds) record(name string) *Type {
	t, ok := k.named[name]
	if !ok {
		t = &Type{form: Record, fields: map[string]*Type{}, filled: map[string][]any{}}
		k.named[name] = t
	}
	return t
}

// read reads a type as kinds.txt writes it.
func (k *Kinds) read(text string) *Type {
	switch {
	case text == "any":
		return nil
	case text == "quantity":
		return &Type{form: Quantity}
	case text == "string", text == "number", text == "boolean":
		return &Type{form: Scalar, scalar: ScalarKind(text)}
	case strings.HasPrefix(text, "!"):
		t := *k.read(text[1:]) // of a record the fields, which may follow later, are the same map
		t.atomic = true
		return &t
	case strings.HasPrefix(text, "{}"):
		return &Type{form: Map, item: k.read(text[2:])}
	case !strings.HasPrefix(text, "["):
		return k.record(text)
	}
	keys, item, _ := strings.Cut(text[1:], "]")
	t := &Type{form: List, item: k.read(item)}
	switch keys {
	case "":
	case "=":
		t.form = Set
	default:
		t.form, t.keys = Keyed, strings.Split(keys, ",")
	}
	return t
}

// Of returns the type of a kind's objects, and whether it is known.
func (k *Kinds) Of(gvk object.GVK) (*Type, bool) {
	t, ok := k.kinds[gvk]
	return t, ok && t != nil
}
