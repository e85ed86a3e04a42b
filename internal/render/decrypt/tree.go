package decrypt

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/sops"
	"github.com/truce-gitops/truce/internal/source"
)

// maxFile is the size of the largest encrypted file, as in Flux.
const maxFile = 5 << 20

// tree is a tree whose encrypted files read as decrypted. One build at a time uses it.
type tree struct {
	source.Tree
	ctx     context.Context
	keys    sops.Keys
	sources sources
	view    sops.View
	known   map[string]*sops.File // read so far; nil for what is not encrypted
	files   map[string]*sops.File // those that are
	secrets []string
	err     error // the first file that cannot be decrypted
}

func newTree(ctx context.Context, r render.Request, keys sops.Keys) *tree {
	return &tree{
		Tree: r.Files, ctx: ctx, keys: keys, sources: sourcesOf(r.Files, r.Path, r.Overlay.Components), view: sops.Values,
		known: map[string]*sops.File{}, files: map[string]*sops.File{},
	}
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.Tree, name) }

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.Tree, name) }

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(t.Tree, name)
	if err != nil || t.sources.plain[name] || !sops.MayBeEncrypted(data) {
		return data, err
	}
	text, err := t.decrypted(name, data)
	if err != nil && t.err == nil {
		t.err = &render.Error{File: name, Err: err}
	}
	return text, err
}

// decrypted returns the file as the build reads it, or as it is if it is not encrypted.
func (t *tree) decrypted(name string, data []byte) ([]byte, error) {
	format, generator := t.sources.generated[name]
	if !generator {
		format = manifestFormat(name, data)
	}
	f, ok := t.known[name]
	if !ok {
		var err error
		if f, err = t.open(data, format); err != nil {
			return nil, err
		}
		if t.known[name] = f; f != nil {
			t.files[name] = f
			t.secrets = append(t.secrets, f.Secrets()...)
		}
	}
	switch {
	case f == nil:
		return data, nil
	case generator:
		return f.Bytes(format, t.view)
	}
	return f.Manifest(format, t.view)
}

// open decrypts a file; nil if it is not encrypted.
func (t *tree) open(data []byte, format sops.Format) (*sops.File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%d bytes, and an encrypted file has at most %d: %w", len(data), maxFile, render.ErrLimit)
	}
	f, err := sops.Decrypt(t.ctx, data, format, t.keys)
	if errors.Is(err, sops.ErrPlain) {
		return nil, nil
	}
	return f, err
}

// manifestFormat is the format of a file that is read as YAML whatever its name.
func manifestFormat(name string, data []byte) sops.Format {
	if format := sops.FormatOf(name); format == sops.YAML {
		return format
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return sops.JSON
	}
	return sops.YAML
}

// secretData decrypts the values of a Secret that are encrypted files themselves.
func (t *tree) secretData(o object.Object) error {
	data, _ := o["data"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, _ := data[key].(string)
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !sops.MayBeEncrypted(content) {
			continue // what is no base64 is reported by the server
		}
		f, err := t.open(content, contentFormat(content))
		if err != nil {
			return fmt.Errorf("%s: data %q: %w", o.ShownID(), key, err)
		}
		if f == nil {
			continue
		}
		plain, err := f.Bytes(sops.FormatOf(key), sops.Values)
		if err != nil {
			return fmt.Errorf("%s: data %q: %w", o.ShownID(), key, err)
		}
		t.secrets = append(append(t.secrets, f.Secrets()...), string(plain))
		data[key] = base64.StdEncoding.EncodeToString(plain)
	}
	return nil
}

// contentFormat is the format of an encrypted text by what is in it.
func contentFormat(content []byte) sops.Format {
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")):
		return sops.JSON
	case bytes.Contains(content, []byte("sops_mac=")):
		return sops.Dotenv
	case bytes.Contains(content, []byte("[sops]")):
		return sops.INI
	}
	return sops.YAML
}

var _ source.Tree = (*tree)(nil)
