package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree is files by their paths from the root, without a slash before them.
type tree map[string]file

type file struct {
	data  []byte
	link  string // of a symbolic link
	mode  fs.FileMode
	owner int
}

// about is what an image says of itself.
type about struct {
	version string
	created time.Time
}

var platform = v1.Platform{OS: "linux", Architecture: "amd64"}

// writeLayout makes the image, and returns its digest.
func writeLayout(dir string, layers []tree, a about) (string, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, t := range layers {
		text, err := t.tar(a.created)
		if err != nil {
			return "", err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return "", err
		}
		history := v1.History{Created: v1.Time{Time: a.created}, CreatedBy: "make image"}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return "", err
		}
	}
	img, err := mutate.ConfigFile(img, imageConfig(img, a))
	if err != nil {
		return "", err
	}
	where, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	if err := where.AppendImage(img, layout.WithPlatform(platform), layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": a.version})); err != nil {
		return "", err
	}
	digest, err := img.Digest()
	return digest.String(), err
}

// imageConfig returns the image's configuration, over what its layers are.
func imageConfig(img v1.Image, a about) *v1.ConfigFile {
	have, err := img.ConfigFile()
	if err != nil {
		have = &v1.ConfigFile{}
	}
	c := have.DeepCopy()
	c.OS, c.Architecture, c.Created = platform.OS, platform.Architecture, v1.Time{Time: a.created}
	c.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), WorkingDir: "/data", Entrypoint: []string{"/usr/bin/truce"},
		Env: []string{"PATH=/usr/bin", "HOME=/data", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "truce", "org.opencontainers.image.version": a.version,
			"org.opencontainers.image.source": "https://github.com/truce-gitops/truce",
		},
	}
	return c
}

// tar is the files with all directories above them, in the order of their paths, at one time.
func (t tree) tar(at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	all := t.withParents()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Uid: f.owner, Gid: f.owner, Format: tar.FormatPAX}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
		case f.mode.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
			if f.mode&fs.ModeSticky != 0 {
				h.Mode |= 0o1000
			}
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

func (t tree) withParents() tree {
	all := maps.Clone(t)
	for name := range t {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = file{mode: 0o755 | fs.ModeDir}
			}
		}
	}
	return all
}

// unpack writes the files into a directory. What is there from another layer stays.
func (t tree) unpack(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all := t.withParents()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		name = filepath.FromSlash(strings.TrimSuffix(name, "/"))
		switch {
		case f.link != "":
			err = root.Symlink(f.link, name)
		case f.mode.IsDir():
			if err = root.MkdirAll(name, 0o755); err == nil {
				err = root.Chmod(name, f.mode.Perm()|f.mode&fs.ModeSticky)
			}
		default:
			err = root.WriteFile(name, f.data, f.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
