package sops

import (
	"fmt"
	"regexp"
	"strconv"
)

// separator is what stands in a flat key before the key of a mapping or the place in a list.
var separator = regexp.MustCompile(`__(map|list)_`)

// flatMetadata reads metadata whose keys say where each value belongs, such as age__list_0__map_recipient; nil where there is none.
func flatMetadata(entries []item, prefix string) (*metadata, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	root := &branch{}
	for _, e := range entries {
		if e.comment != nil {
			continue
		}
		if err := root.place(e.key[len(prefix):], e.value); err != nil {
			return nil, err
		}
	}
	v, err := root.goValue()
	if err != nil {
		return nil, err
	}
	if fields, ok := v.(map[string]any); !ok || fields["mac"] == nil {
		return nil, nil
	}
	return newMetadata(v)
}

// branch is a part of the metadata while it is put together.
type branch struct {
	value any
	set   bool
	below map[string]*branch
	list  bool // the keys of below are places
}

func (b *branch) place(key string, value any) error {
	at, rest := b, key
	list := false
	for {
		name, isList := rest, false
		next := separator.FindStringSubmatchIndex(rest)
		if next != nil {
			name, isList = rest[:next[0]], rest[next[2]:next[3]] == "list"
		}
		if at.below == nil {
			at.below, at.list = map[string]*branch{}, list
		}
		if at.list != list || at.set {
			return fmt.Errorf("%s: %s is a list, a mapping or a value, not two of them", metadataKey, key)
		}
		if at.below[name] == nil {
			at.below[name] = &branch{}
		}
		at = at.below[name]
		if next == nil {
			break
		}
		rest, list = rest[next[1]:], isList
	}
	if at.set || at.below != nil {
		return fmt.Errorf("%s: %s is there twice", metadataKey, key)
	}
	at.value, at.set = value, true
	return nil
}

func (b *branch) goValue() (any, error) {
	switch {
	case b.set:
		return b.value, nil
	case b.list:
		out := make([]any, len(b.below))
		for name, e := range b.below {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(out) || strconv.Itoa(n) != name {
				return nil, fmt.Errorf("%s: a list has a gap", metadataKey)
			}
			if out[n], err = e.goValue(); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	out := make(map[string]any, len(b.below))
	for name, e := range b.below {
		v, err := e.goValue()
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}
