// Package sops answers: what does a file say that SOPS has encrypted?
//
// In: the bytes of a file in one of SOPS's formats, and the keys that an app has.
// Out: the file decrypted, with other values in the place of the decrypted ones where they must not be shown, and a list of those values.
// Promise: a file whose MAC is wrong or missing is an error and gives nothing; no value is in an error. Nothing is read or written but the
// arguments, and no program is run.
// Not here: which files of a build are decrypted (decrypt), reading keys from a cluster (values), calls to KMS and Vault (keyservice).
package sops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// Format is how a file is written.
type Format string

// The formats. A binary file is one text in a JSON object.
const (
	YAML   Format = "YAML"
	JSON   Format = "JSON"
	Dotenv Format = "dotenv"
	INI    Format = "INI"
	Binary Format = "binary"
)

// FormatOf returns the format of a file by its name, as SOPS and Flux choose it.
func FormatOf(name string) Format {
	if strings.HasSuffix(name, ".dockerconfigjson") {
		return JSON
	}
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return YAML
	case ".json":
		return JSON
	case ".env":
		return Dotenv
	case ".ini":
		return INI
	}
	return Binary
}

// ErrPlain is the error for a file that is not encrypted.
var ErrPlain = errors.New("not encrypted with SOPS")

// marker is in every file that SOPS has encrypted: the MAC is such a value, too.
var marker = []byte(valueStart)

// MayBeEncrypted reports whether a file is worth a call of Decrypt.
func MayBeEncrypted(data []byte) bool {
	return bytes.Contains(data, marker) && bytes.Contains(data, []byte("sops"))
}

// IsEncryptedValue reports whether a text begins as a value that SOPS has encrypted.
func IsEncryptedValue(text string) bool { return strings.HasPrefix(text, valueStart) }

// View says which values stand in a decrypted file.
type View string

// The views. Placeholders have the same types as the values and are different from them.
const (
	Values       View = "values"
	Placeholders View = "placeholders"
)

// File is a decrypted file.
type File struct {
	source    []byte
	documents []*document
	secrets   []*secret
}

// document is one of the documents of a YAML file; other formats have one.
type document struct {
	root     *block
	metadata *metadata // nil for a document that is not encrypted
	place    *place    // in the source, of YAML
	keep     bool      // it asks to stay encrypted
}

// Decrypt decrypts a file; ErrPlain if it is not encrypted, or not in the format. Documents of a YAML file with different metadata were encrypted
// one by one, and each has a MAC of its own.
func Decrypt(ctx context.Context, data []byte, format Format, keys Keys) (*File, error) {
	f, err := loadFile(data, format)
	if err != nil {
		return nil, err
	}
	done := map[*document]bool{}
	for _, d := range f.documents {
		if d.metadata == nil || done[d] {
			continue
		}
		var group []*document
		for _, other := range f.documents {
			if other.metadata != nil && other.metadata.equal(d.metadata) {
				group, done[other] = append(group, other), true
			}
		}
		if err := f.decryptGroup(ctx, group, keys); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func loadFile(data []byte, format Format) (f *File, err error) {
	defer func() {
		if recover() != nil { // a parser met what it does not expect
			f, err = nil, ErrPlain
		}
	}()
	f = &File{source: data}
	switch format {
	case YAML:
		f.documents, err = loadYAML(data)
	case JSON, Binary:
		f.documents, err = loadJSON(data)
	case Dotenv:
		f.documents, err = loadDotenv(data)
	case INI:
		f.documents, err = loadINI(data)
	default:
		err = fmt.Errorf("unknown format %q", format)
	}
	if err != nil {
		return nil, err
	}
	for _, d := range f.documents {
		if d.metadata != nil {
			return f, nil
		}
	}
	return nil, ErrPlain
}

// Secrets are the decrypted values as texts, and what they stand for where they are base64.
func (f *File) Secrets() []string {
	var out []string
	for _, s := range f.secrets {
		if s.public {
			continue
		}
		text := plainText(s.value)
		out = append(out, text)
		if decoded, ok := decodeBase64(text); ok {
			out = append(out, decoded)
		}
	}
	return out
}

// Known hides the decrypted values in texts.
func (f *File) Known() redact.Known { return redact.KnownOf(f.Secrets()...) }

// Kept reports whether a document asks to stay encrypted.
func (f *File) Kept() bool {
	return slices.ContainsFunc(f.documents, func(d *document) bool { return d.keep })
}

// Bytes returns the file in a format, as `sops decrypt` writes it.
func (f *File) Bytes(format Format, view View) ([]byte, error) {
	if format == YAML {
		return f.yamlBytes(view)
	}
	if len(f.documents) != 1 {
		return nil, fmt.Errorf("%d documents: a %s file has one", len(f.documents), format)
	}
	root := f.documents[0].root
	switch format {
	case JSON:
		return jsonBytes(root, view)
	case Dotenv:
		return dotenvBytes(root, view)
	case INI:
		return iniBytes(root, view)
	default:
		return binaryBytes(root, view)
	}
}
