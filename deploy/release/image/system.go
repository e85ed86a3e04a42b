package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// user is who truce runs as, as in deploy/base.
const user = 65532

const certificates = "usr/share/ca-certificates/mozilla/"

// gitFiles are those of git that fetch and read a repository. The rest is for people, or needs a shell or Perl.
var gitFiles = []string{"usr/bin/git", "usr/lib/git-core/git-remote-http", "usr/lib/git-core/git-remote-https"}

// systemLayer is the layer beneath truce: git, its libraries, and CA certificates.
func systemLayer(ctx context.Context, a archive, list []pkg) (tree, error) {
	out := skeleton()
	for _, p := range list {
		deb, err := a.get(ctx, p)
		if err != nil {
			return nil, err
		}
		found, err := packageFiles(deb, isInImage)
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", p.name, p.version, err)
		}
		maps.Copy(out, found)
	}
	out.bundle()
	out["usr/lib/git-core/git"] = file{link: "../../bin/git"}
	for _, name := range gitFiles {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("no package has %s", name)
		}
	}
	return out, nil
}

// isInImage says which files of a package the image has: git's, libraries, certificates, and the licences of all.
func isInImage(name string) bool {
	switch dir := path.Dir(mergedPath(name)); {
	case slices.Contains(gitFiles, name):
		return true
	case dir == "usr/lib/x86_64-linux-gnu" || dir == "usr/lib64":
		return strings.Contains(path.Base(name), ".so")
	case strings.HasPrefix(name, certificates):
		return strings.HasSuffix(name, ".crt")
	case strings.HasPrefix(dir, "usr/share/doc/"):
		return path.Base(name) == "copyright"
	}
	return false
}

// bundle puts the certificates into the one file that programs read.
func (t tree) bundle() {
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if strings.HasPrefix(name, certificates) {
			all.Write(bytes.TrimRight(t[name].data, "\n"))
			all.WriteByte('\n')
			delete(t, name)
		}
	}
	t["etc/ssl/certs/ca-certificates.crt"] = file{data: all.Bytes(), mode: 0o644}
}

// skeleton is what no package brings.
func skeleton() tree {
	text := func(s string) file { return file{data: []byte(s), mode: 0o644} }
	return tree{
		"lib": {link: "usr/lib"}, "lib64": {link: "usr/lib64"}, "bin": {link: "usr/bin"},
		"usr/share/git-core/templates": {mode: 0o755 | fs.ModeDir},
		"tmp":                          {mode: 0o777 | fs.ModeDir | fs.ModeSticky},
		"data":                         {mode: 0o755 | fs.ModeDir, owner: user},
		"etc/passwd":                   text(fmt.Sprintf("root:x:0:0:root:/nonexistent:/nonexistent\ntruce:x:%d:%d:truce:/data:/nonexistent\n", user, user)),
		"etc/group":                    text(fmt.Sprintf("root:x:0:\ntruce:x:%d:\n", user)),
		"etc/nsswitch.conf":            text("hosts: files dns\n"),
	}
}
