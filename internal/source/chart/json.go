package chart

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
)

// scanJSON reads an index in JSON as a stream.
func scanJSON(in *bufio.Reader, name string) (found, error) {
	var out found
	d := json.NewDecoder(in)
	err := eachMember(d, func(key string) error {
		switch key {
		case "apiVersion":
			var text string
			err := d.Decode(&text)
			out.apiVersion = text != ""
			return err
		case "entries":
			return eachMember(d, func(chart string) error {
				out.charts++
				if name == "" || chart != name {
					return skipValue(d)
				}
				return d.Decode(&out.versions)
			})
		}
		return skipValue(d)
	})
	if err != nil {
		return found{}, fmt.Errorf("it is no JSON: %w", err)
	}
	return out, nil
}

var errNoObject = errors.New("want an object")

// eachMember calls read with each key of an object, which reads its value. Null is an object without any.
func eachMember(d *json.Decoder, read func(string) error) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	if begin == nil {
		return nil
	}
	if begin != json.Delim('{') {
		return errNoObject
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := read(name); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// skipValue reads over a value, piece by piece.
func skipValue(d *json.Decoder) error {
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
