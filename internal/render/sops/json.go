package sops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// loadJSON reads one object. What is none is not encrypted.
func loadJSON(data []byte) ([]*document, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	first, err := d.Token()
	if err != nil || first != json.Delim('{') {
		return nil, ErrPlain
	}
	l := jsonLoader{decoder: d, budget: &budget{}}
	root, err := l.block(false, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrPlain // several values
	}
	dropped := root.drop(func(key string) bool { return key == metadataKey })
	if len(dropped) == 0 {
		return nil, ErrPlain
	}
	meta, ok := dropped[0].value.(*block)
	if len(dropped) > 1 || !ok || meta.list {
		return nil, ErrPlain
	}
	if mac, ok := meta.get("mac"); !ok || mac == nil {
		return nil, ErrPlain
	}
	if staysEncrypted(goValue(root)) {
		return nil, ErrPlain
	}
	m, err := newMetadata(goValue(meta))
	return []*document{{root: root, metadata: m}}, err
}

type jsonLoader struct {
	decoder *json.Decoder
	budget  *budget
}

// block reads an object or an array whose beginning was read.
func (l jsonLoader) block(list bool, depth int) (*block, error) {
	b := &block{list: list}
	for l.decoder.More() {
		var i item
		if !list {
			key, err := l.decoder.Token()
			if err != nil {
				return nil, ErrPlain
			}
			i.key, _ = key.(string)
		}
		var err error
		if i.value, err = l.value(depth + 1); err != nil {
			return nil, err
		}
		b.items = append(b.items, i)
	}
	if _, err := l.decoder.Token(); err != nil {
		return nil, ErrPlain
	}
	return b, nil
}

func (l jsonLoader) value(depth int) (any, error) {
	if err := l.budget.spend(depth); err != nil {
		return nil, err
	}
	token, err := l.decoder.Token()
	if err != nil {
		return nil, ErrPlain
	}
	switch v := token.(type) {
	case json.Delim:
		return l.block(v == '[', depth)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n), nil
		}
		n, err := v.Float64()
		if err != nil {
			return nil, errors.New("a number is too large")
		}
		return n, nil
	}
	return token, nil
}

// jsonBytes writes an object indented by tabs.
func jsonBytes(root *block, view View) ([]byte, error) {
	var text, out bytes.Buffer
	if err := writeJSON(&text, root, view); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, text.Bytes(), "", "\t"); err != nil {
		return nil, errors.New("the decrypted values cannot be written as JSON")
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func writeJSON(out *bytes.Buffer, v any, view View) error {
	b, ok := v.(*block)
	if !ok {
		text, err := json.Marshal(leafValue(v, view))
		if err != nil {
			return errors.New("a decrypted value cannot be written as JSON")
		}
		out.Write(text)
		return nil
	}
	open, end := byte('{'), byte('}')
	if b.list {
		open, end = '[', ']'
	}
	out.WriteByte(open)
	separator := ""
	for _, i := range b.items {
		if i.comment != nil {
			continue
		}
		out.WriteString(separator)
		separator = ","
		if !b.list {
			key, _ := json.Marshal(i.key) // a text
			out.Write(append(key, ':'))
		}
		if err := writeJSON(out, i.value, view); err != nil {
			return err
		}
	}
	out.WriteByte(end)
	return nil
}

// binaryKey is where a binary file has its content.
const binaryKey = "data"

func binaryBytes(root *block, view View) ([]byte, error) {
	v, ok := root.get(binaryKey)
	text, isText := leafValue(v, view).(string)
	if !ok || !isText {
		return nil, fmt.Errorf("the name has no extension of a format, so that it is a binary file, which has its content at the key %q, and this one has not: give the key the extension of the file", binaryKey)
	}
	return []byte(text), nil
}
