package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// jsonIndex reads an index in JSON as a stream, of which no piece may have more than mostAtOnce bytes.
type jsonIndex struct {
	from io.Reader
	left int // of the piece that is read
	*json.Decoder
}

// errLongPiece says that a piece is longer. It is of a version, or of none.
var errLongPiece = transport.Failed(source.LimitExceeded, "a key or value of the index has more than %d bytes", mostAtOnce)

// Read implements io.Reader, for the decoder.
func (j *jsonIndex) Read(p []byte) (int, error) {
	if j.left == 0 {
		return 0, errLongPiece
	}
	n, err := j.from.Read(p[:min(len(p), j.left)])
	j.left -= n
	return n, err
}

// Token returns the next token.
func (j *jsonIndex) Token() (json.Token, error) {
	j.left = mostAtOnce
	return j.Decoder.Token()
}

// Decode reads the next value.
func (j *jsonIndex) Decode(into any) error {
	j.left = mostAtOnce
	return j.Decoder.Decode(into)
}

// More reports whether the list or object goes on.
func (j *jsonIndex) More() bool {
	j.left = mostAtOnce
	return j.Decoder.More()
}

// scanJSON reads an index in JSON as a stream.
func scanJSON(in io.Reader, name string) (found, error) {
	var out found
	j := &jsonIndex{from: in}
	j.Decoder = json.NewDecoder(j)
	err := j.eachMember(func(key string) error {
		switch key {
		case "apiVersion":
			var text string
			err := j.Decode(&text)
			out.apiVersion = text != ""
			return err
		case "entries":
			return j.eachMember(func(chart string) error {
				out.charts++
				if name == "" || chart != name {
					return j.skipValue()
				}
				return j.addVersions(&out, name)
			})
		}
		return j.skipValue()
	})
	var limit *transport.FetchError
	if err != nil && !errors.As(err, &limit) {
		err = fmt.Errorf("it is no JSON: %w", err)
	}
	return out, err
}

var (
	errNoObject = errors.New("want an object")
	errNoList   = errors.New("want a list of versions")
)

// open reads the beginning of an object or a list, and reports whether there is one: null is one without anything.
func (j *jsonIndex) open(begin json.Delim, otherwise error) (bool, error) {
	t, err := j.Token()
	if err == nil && t != nil && t != begin {
		err = otherwise
	}
	return t == begin, err
}

// addVersions reads the versions of a chart.
func (j *jsonIndex) addVersions(out *found, name string) error {
	there, err := j.open('[', errNoList)
	if err != nil || !there {
		return err
	}
	for j.More() {
		var v version
		err := j.Decode(&v)
		if errors.Is(err, errLongPiece) {
			return errLongVersion(name)
		}
		if err = errors.Join(err, out.add(name, v)); err != nil {
			return err
		}
	}
	_, err = j.Token()
	return err
}

// eachMember calls read with each key of an object, which reads its value.
func (j *jsonIndex) eachMember(read func(string) error) error {
	there, err := j.open('{', errNoObject)
	if err != nil || !there {
		return err
	}
	for j.More() {
		key, err := j.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := read(name); err != nil {
			return err
		}
	}
	_, err = j.Token()
	return err
}

// skipValue reads over a value, piece by piece.
func (j *jsonIndex) skipValue() error {
	for depth := 0; ; {
		t, err := j.Token()
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
