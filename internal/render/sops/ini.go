package sops

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/ini.v1"
)

// loadINI reads sections with keys. What is none is not encrypted.
func loadINI(data []byte) ([]*document, error) {
	file, err := ini.LoadSources(ini.LoadOptions{AllowNonUniqueSections: true}, data)
	if err != nil {
		return nil, ErrPlain
	}
	root, count := &block{}, &budget{}
	for _, section := range file.Sections() {
		b := &block{}
		b.addNote(section.Comment)
		for _, key := range section.Keys() {
			if err := count.spend(0); err != nil {
				return nil, err
			}
			b.items = append(b.items, item{key: key.Name(), value: key.Value()})
			b.addNote(key.Comment)
		}
		root.items = append(root.items, item{key: section.Name(), value: b})
	}
	dropped := root.drop(func(key string) bool { return key == metadataKey })
	if len(dropped) != 1 {
		return nil, ErrPlain
	}
	entries := dropped[0].value.(*block).items
	for i, e := range entries {
		if text, ok := e.value.(string); ok {
			entries[i].value = strings.ReplaceAll(text, `\n`, "\n")
		}
	}
	m, err := flatMetadata(entries, "")
	return []*document{{root: root, metadata: m}}, err
}

// addNote adds a comment of a section or key, whose mark it loses.
func (b *block) addNote(text string) {
	if text == "" {
		return
	}
	if mark := text[:1]; mark == ";" || mark == "#" {
		text = strings.TrimLeft(text, mark+" ")
	}
	b.items = append(b.items, item{comment: &comment{text: text}})
}

func iniBytes(root *block, view View) ([]byte, error) {
	file := ini.Empty(ini.LoadOptions{AllowNonUniqueSections: true})
	file.DeleteSection(ini.DefaultSection)
	for _, i := range root.items {
		if i.comment != nil {
			continue
		}
		b, ok := i.value.(*block)
		if !ok || b.list {
			return nil, fmt.Errorf("%s: an INI file holds sections with keys", i.key)
		}
		section, err := file.NewSection(i.key)
		if err != nil {
			return nil, fmt.Errorf("%s: no name of a section", i.key)
		}
		if err := fillSection(section, b, view); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if _, err := file.WriteTo(&out); err != nil {
		return nil, errors.New("the decrypted values cannot be written as INI")
	}
	return out.Bytes(), nil
}

func fillSection(section *ini.Section, b *block, view View) error {
	var last *ini.Key
	for n, i := range b.items {
		if i.comment != nil {
			if n == 0 {
				section.Comment = i.comment.text
			} else if last != nil {
				last.Comment = i.comment.text
			}
			continue
		}
		key, err := section.NewKey(i.key, plainText(leafValue(i.value, view)))
		if err != nil {
			return fmt.Errorf("%s: no name of a key", i.key)
		}
		last = key
	}
	return nil
}
