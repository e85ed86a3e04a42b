package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/ulikunitz/xz"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// deb makes a package of files; a name that ends in "@" is a symbolic link to its text.
func deb(t *testing.T, contents map[string]string) []byte {
	t.Helper()
	var plain, packed bytes.Buffer
	w := tar.NewWriter(&plain)
	for name, text := range contents {
		h := &tar.Header{Name: "./" + name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if link, ok := strings.CutSuffix(name, "@"); ok {
			h = &tar.Header{Name: "./" + link, Linkname: text, Typeflag: tar.TypeSymlink}
			text = ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	out := "!<arch>\n"
	for _, m := range []struct{ name, data string }{{"debian-binary", "2.0\n"}, {"control.tar.xz", "odd"}, {"data.tar.xz", packed.String()}} {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", m.name, 0, 0, 0, "100644", len(m.data), m.data)
		if len(m.data)%2 == 1 {
			out += "\n"
		}
	}
	return []byte(out)
}

func TestAPackageIsReadAsFarAsItIsWanted(t *testing.T) {
	text := deb(t, map[string]string{
		"usr/bin/git": "git", "usr/lib/git-core/git-remote-http": "http", "usr/lib/git-core/git-remote-https@": "git-remote-http",
		"usr/lib/git-core/git-submodule": "#!/bin/sh", "lib/x86_64-linux-gnu/libz.so.1@": "libz.so.1.2", "lib/x86_64-linux-gnu/libz.so.1.2": "z",
		"usr/lib/x86_64-linux-gnu/gconv/UTF-16.so": "no", "usr/share/doc/git/copyright": "GPL", "usr/share/doc/git/README": "no", "etc/bash_completion.d/git": "no",
	})
	got, err := packageFiles(text, isInImage)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, f := range got {
		names = append(names, strings.TrimSuffix(name+" -> "+f.link, " -> "))
	}
	slices.Sort(names)
	want := []string{
		"usr/bin/git", "usr/lib/git-core/git-remote-http", "usr/lib/git-core/git-remote-https -> git-remote-http",
		"usr/lib/x86_64-linux-gnu/libz.so.1 -> libz.so.1.2", "usr/lib/x86_64-linux-gnu/libz.so.1.2", "usr/share/doc/git/copyright",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, cut := range []int{0, 7, 30, 100, len(text) / 2} {
		if _, err := packageFiles(text[:cut], isInImage); err == nil {
			t.Errorf("a package of %d bytes is read", cut)
		}
	}
}

func TestAPackageWithAnotherSumIsRefused(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		_, _ = w.Write([]byte("package")) // the connection is this process's own
	}))
	t.Cleanup(server.Close)
	a := archive{cache: t.TempDir(), urls: packageURLs(server.URL)}
	p := pkg{name: "git", version: "1", path: "debian/pool/git.deb", sum: hexDigest([]byte("another"))}
	if _, err := a.get(t.Context(), p); err == nil || !strings.Contains(err.Error(), "not "+p.sum) {
		t.Errorf("the wrong package: %v", err)
	}
	p.sum = hexDigest([]byte("package"))
	for range 2 { // the second time from the cache
		if got, err := a.get(t.Context(), p); err != nil || string(got) != "package" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if diff := cmp.Diff([]string{"/debian/pool/git.deb", "/debian/pool/git.deb"}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestTheListNamesEveryPackageWithItsSum(t *testing.T) {
	list, err := readList(locked)
	if err != nil || len(list) < 20 {
		t.Fatalf("%d packages: %v", len(list), err)
	}
	for _, bad := range []string{"git 1 path", "git 1 path short", "git 1 a path " + list[0].sum} {
		if _, err := readList(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestTheSameFilesGiveTheSameDigest(t *testing.T) {
	make1 := func(a about, program string) (string, v1.Image) {
		dir := filepath.Join(t.TempDir(), "layout")
		digest, err := writeLayout(dir, []tree{skeleton(), {"usr/bin/truce": {data: []byte(program), mode: 0o755}}}, a)
		if err != nil {
			t.Fatal(err)
		}
		return digest, imageIn(t, dir, digest)
	}
	a := about{version: "v1", created: time.Unix(1700000000, 0)}
	first, img := make1(a, "truce")
	if second, _ := make1(a, "truce"); second != first {
		t.Errorf("twice: %s and %s", first, second)
	}
	if other, _ := make1(a, "another"); other == first {
		t.Errorf("another program has the same digest")
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.User != "65532:65532" || c.Config.Entrypoint[0] != "/usr/bin/truce" || len(c.RootFS.DiffIDs) != 2 || c.Architecture != "amd64" {
		t.Errorf("%+v", c)
	}
}

func imageIn(t *testing.T, dir, digest string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(hash)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestLongTheImageRuns makes the real image twice, unpacks its layers, and runs it as a container would: as user 65532, with a root that
// cannot be written. It compiles truce and downloads packages.
func TestLongTheImageRuns(t *testing.T) {
	dir := t.TempDir()
	var digests []string
	for _, name := range []string{"one", "two"} {
		cmd := exec.CommandContext(t.Context(), "../image.sh", filepath.Join(dir, name), "v0.0.0-test")
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, strings.TrimSpace(string(out)))
	}
	if digests[0] != digests[1] {
		t.Fatalf("twice: %q", digests)
	}
	root := filepath.Join(dir, "root")
	unpack(t, imageIn(t, filepath.Join(dir, "one/layout"), digests[0]), root)

	if out := inside(t, root, "/usr/bin/truce", "version", "--client"); !strings.Contains(out, "v0.0.0-test") {
		t.Errorf("truce version: %s", out)
	}
	repo := gittest.New(t, map[string]string{"web.yaml": "kind: ConfigMap\n"})
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	inside(t, root, "/usr/bin/git", "clone", "-q", server.URL, "/data/clone")
	if out := inside(t, root, "/usr/bin/git", "-C", "/data/clone", "log", "--format=%H"); !strings.Contains(out, repo.Head()) {
		t.Errorf("the clone is at %s, not %s", out, repo.Head())
	}
	secure := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{TLS: true})
	if err := os.WriteFile(filepath.Join(dir, "data/ca.pem"), []byte(secure.CABundle), 0o644); err != nil {
		t.Fatal(err)
	}
	inside(t, root, "/usr/bin/git", "-c", "http.sslCAInfo=/data/ca.pem", "clone", "-q", secure.URL, "/data/secure")
	if out, err := insideOf(t, root, "/usr/bin/git", "clone", "-q", secure.URL, "/data/unknown").CombinedOutput(); err == nil || !strings.Contains(string(out), "certificate") {
		t.Errorf("a server whose CA is not known: %v: %s", err, out)
	}
	if out, err := insideOf(t, root, "/usr/bin/git", "init", "-q", "/etc/repo").CombinedOutput(); err == nil {
		t.Errorf("the root is written: %s", out)
	}
	for _, name := range []string{"bin/sh", "usr/bin/bash", "usr/bin/perl", "usr/bin/dpkg", "usr/bin/apt-get"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("the image has %s", name)
		}
	}
}

// unpack writes what a container's root would be.
func unpack(t *testing.T, img v1.Image, root string) {
	t.Helper()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	flat := mutate.Extract(img)
	defer flat.Close()
	cmd := exec.CommandContext(t.Context(), "tar", "-x", "-C", root)
	cmd.Stdin = flat
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v: %s", err, out)
	}
	for _, name := range []string{"dev", "proc"} { // which the runtime makes
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// inside runs a program of the image, and returns its output.
func inside(t *testing.T, root string, args ...string) string {
	t.Helper()
	out, err := insideOf(t, root, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// insideOf mounts the root read-only in a mount namespace of its own, with /dev/null and a volume at /data, as a container runtime does. Without
// the rights for that it is the root of a user namespace.
func insideOf(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	data := filepath.Join(filepath.Dir(root), "data")
	script := `set -e
mount --bind "$ROOT" "$ROOT"
mount --bind /dev "$ROOT/dev"
mount --bind "$DATA" "$ROOT/data"
mount -o remount,ro,bind "$ROOT"
exec chroot $AS "$ROOT" "$@"`
	unshare, as := []string{"-m"}, "--userspec=65532:65532"
	if os.Geteuid() != 0 {
		unshare, as = []string{"-rm"}, ""
	}
	if err := os.MkdirAll(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(data, 0o777); err != nil { // whatever the umask
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(append(unshare, "sh", "-c", script, "sh"), args...)...)
	cmd.Env = []string{"ROOT=" + root, "DATA=" + data, "AS=" + as, "PATH=/usr/bin:/usr/sbin:/bin:/sbin", "HOME=/data"}
	return cmd
}
