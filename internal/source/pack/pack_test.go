package pack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// archive makes a tar archive; the content of a header is its Linkname where it is a file.
func archive(t testing.TB, compressed bool, all ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	var to io.Writer = &out
	zip := gzip.NewWriter(&out)
	if compressed {
		to = zip
	}
	w := tar.NewWriter(to)
	for _, h := range all {
		var content string
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if compressed {
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Linkname: content}
}

func openStore(t testing.TB, dir string) *pack.Store {
	t.Helper()
	s, err := pack.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func unpack(t testing.TB, s *pack.Store, name string, data []byte) *pack.Pack {
	t.Helper()
	p, err := s.Unpack(t.Context(), name, bytes.NewReader(data), source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func treeOf(t testing.TB, p *pack.Pack, ignore string) *tree.Tree {
	t.Helper()
	files, err := p.Tree(t.Context(), tree.Rules{Ignore: ignore})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAnArchiveIsATree(t *testing.T) {
	data := archive(
		t, true,
		tar.Header{Typeflag: tar.TypeDir, Name: "./"},
		file("./top.yaml", "a: 1\n"), file("apps/web/a.yaml", "b: 2\n"), file("apps-old/a.yaml", "c: 3\n"),
		tar.Header{Typeflag: tar.TypeReg, Name: "apps/run.sh", Mode: 0o755, Linkname: "#!/bin/sh\n"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "apps/current", Linkname: "web"},
		tar.Header{Typeflag: tar.TypeLink, Name: "apps/copy.yaml", Linkname: "./top.yaml"},
		file("apps/web/logo.png", "left out by the default rules"),
	)
	files := treeOf(t, unpack(t, openStore(t, t.TempDir()), "x", data), "")
	if err := fstest.TestFS(files, "top.yaml", "apps/web/a.yaml", "apps/run.sh", "apps-old/a.yaml", "apps/copy.yaml"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"apps/current/a.yaml": "b: 2\n", "apps/copy.yaml": "a: 1\n"} {
		if got, err := fs.ReadFile(files, name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := fs.Stat(files, "apps/web/logo.png"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is excluded: %v", err)
	}
}

// TestEqualFilesHaveOneDigestAndOneCopy packs the same files in another order, uncompressed, and under another name.
func TestEqualFilesHaveOneDigestAndOneCopy(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	one := treeOf(t, unpack(t, s, "one", archive(t, true, file("a.yaml", "1"), file("b/c.yaml", "1"))), "")
	two := treeOf(t, unpack(t, s, "two", archive(t, false, file("b/c.yaml", "0"), file("b/c.yaml", "1"), file("./a.yaml", "1"))), "")
	other := treeOf(t, unpack(t, s, "three", archive(t, true, file("a.yaml", "2"), file("b/c.yaml", "1"))), "")
	if one.Digest() != two.Digest() || one.Digest() == other.Digest() {
		t.Errorf("digests %s, %s, %s", one.Digest(), two.Digest(), other.Digest())
	}
	if names(t, filepath.Join(dir, "packs")) != 2 || names(t, filepath.Join(dir, "unfinished")) != 0 {
		t.Errorf("%d packs, %d unfinished", names(t, filepath.Join(dir, "packs")), names(t, filepath.Join(dir, "unfinished")))
	}
	sum := func(x *tree.Tree) string {
		got, err := x.Sum("b")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if sum(one) != sum(other) {
		t.Error("a directory that has not changed has another sum")
	}
	if ignored := treeOf(t, s.Named("three"), "a.yaml\n"); ignored.Digest() == other.Digest() {
		t.Error("what is left out does not change the digest")
	}
}

func names(t testing.TB, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestAnArchiveThatIsWrongIsRefusedWhole(t *testing.T) {
	zeros := strings.Repeat("\x00", 40<<20)
	limits := source.Limits{Bytes: 100 << 20, Files: 3, PathLength: 40}
	for name, c := range map[string]struct {
		data []byte
		want source.Reason
	}{
		"out by ..":            {archive(t, true, file("../a", "x")), source.PathEscape},
		"out in the middle":    {archive(t, true, file("a/../../b", "x")), source.PathEscape},
		"absolute":             {archive(t, true, file("/etc/passwd", "x")), source.PathEscape},
		"a directory outside":  {archive(t, true, tar.Header{Typeflag: tar.TypeDir, Name: "../x/"}), source.PathEscape},
		"the root as a file":   {archive(t, true, file("./.", "x")), source.PathEscape},
		"a device":             {archive(t, true, tar.Header{Typeflag: tar.TypeBlock, Name: "disk"}), source.PathEscape},
		"a pipe":               {archive(t, true, tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}), source.PathEscape},
		"a hard link outside":  {archive(t, true, tar.Header{Typeflag: tar.TypeLink, Name: "x", Linkname: "/etc/passwd"}), source.PathEscape},
		"a hard link to later": {archive(t, true, tar.Header{Typeflag: tar.TypeLink, Name: "x", Linkname: "y"}, file("y", "")), source.PathEscape},
		"through a link":       {archive(t, true, tar.Header{Typeflag: tar.TypeSymlink, Name: "d", Linkname: "/etc"}, file("d/passwd", "x")), source.PathEscape},
		"a file as directory":  {archive(t, true, file("a/b", "x"), file("a", "x")), source.PathEscape},
		"a long path":          {archive(t, true, file(strings.Repeat("a", 50), "x")), source.LimitExceeded},
		"a bomb":               {archive(t, true, file("a", zeros)), source.LimitExceeded},
		"too much":             {archive(t, false, file("a", zeros), file("b", zeros), file("c", zeros)), source.LimitExceeded},
		"cut":                  {archive(t, true, file("a", "abc"))[:60], source.LayerFailed},
		"no archive":           {[]byte("<html>not found</html>"), source.LayerFailed},
		"nothing":              {nil, source.LayerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			_, err := s.Unpack(t.Context(), "x", bytes.NewReader(c.data), limits)
			var e *tree.Error
			if !errors.As(err, &e) || e.Reason != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if names(t, filepath.Join(dir, "packs"))+names(t, filepath.Join(dir, "unfinished")) != 0 || s.Named("x") != nil {
				t.Error("something of it is stored")
			}
		})
	}
}

// Directories that no file of the archive pays for are bounded as well: one path can name thousands of them.
func TestTheDirectoriesOfAnArchiveAreBounded(t *testing.T) {
	deep := func(files, steps int) []byte {
		var all []tar.Header
		for i := range files {
			all = append(all, file(fmt.Sprintf("%d/%sx", i, strings.Repeat("d/", steps)), ""))
		}
		return archive(t, true, all...)
	}
	for want, c := range map[string]struct {
		data   []byte
		limits source.Limits
	}{
		"more than 30 directories": {deep(3, 12), source.Limits{Files: 3}},
		"more than 67108864 bytes": {deep(20, 2000), source.Limits{}},
	} {
		_, err := openStore(t, t.TempDir()).Unpack(t.Context(), "x", bytes.NewReader(c.data), c.limits)
		var e *tree.Error
		if !errors.As(err, &e) || e.Reason != source.LimitExceeded || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestALinkThatLeadsOutIsRefusedWhenItIsOpened(t *testing.T) {
	files := treeOf(t, unpack(t, openStore(t, t.TempDir()), "x", archive(t, true, file("a", "x"), tar.Header{Typeflag: tar.TypeSymlink, Name: "out", Linkname: "../../etc/passwd"})), "")
	_, err := fs.ReadFile(files, "out")
	var e *source.Error
	if !errors.As(err, &e) || e.Reason != source.PathEscape {
		t.Error(err)
	}
}

// TestADamagedCopyIsNotUsedAgain changes a stored content: the read fails, and neither this store nor the next opens the pack.
func TestADamagedCopyIsNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	data := archive(t, true, file("a.yaml", "right"))
	p := unpack(t, s, "x", data)
	content := filepath.Join(dir, "packs", strings.TrimPrefix(treeOf(t, p, "").Digest(), "sha256:"), "content")
	if err := os.WriteFile(content, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := fs.ReadFile(treeOf(t, p, ""), "a.yaml"); err == nil || !p.Damaged() {
		t.Errorf("read %q", got)
	}
	if s.Named("x") != nil || openStore(t, dir).Named("x") != nil {
		t.Error("the damaged pack is opened again")
	}
	if got, err := fs.ReadFile(treeOf(t, unpack(t, s, "x", data), ""), "a.yaml"); string(got) != "right" || err != nil {
		t.Errorf("after another fetch: %q, %v", got, err)
	}
	for _, name := range []string{"content", "index.json"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(content), name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if openStore(t, dir).Named("x") != nil {
			t.Errorf("a pack without its %s is opened", name)
		}
		unpack(t, openStore(t, dir), "x", data)
	}
}

// TestAPackThatIsGoneIsDamaged, so that its holders fetch it again, whichever way it is read.
func TestAPackThatIsGoneIsDamaged(t *testing.T) {
	for name, read := range map[string]func(p *pack.Pack) error{
		"as a stream": func(p *pack.Pack) error { _, err := p.Open("a.yaml"); return err },
		"as a tree":   func(p *pack.Pack) error { _, err := fs.ReadFile(treeOf(t, p, ""), "a.yaml"); return err },
	} {
		s := openStore(t, t.TempDir())
		p := unpack(t, s, "x", archive(t, true, file("a.yaml", "1")))
		if err := s.Retain(nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := read(p); err == nil || !p.Damaged() {
			t.Errorf("%s: %v, damaged: %v", name, err, p.Damaged())
		}
	}
}

func TestAContentOfAnotherDigestIsRefused(t *testing.T) {
	data := archive(t, true, file("a.yaml", "x"))
	sum := sha256.Sum256(data)
	right := func(more []byte) io.Reader {
		return pack.Verified(bytes.NewReader(append(data[:len(data):len(data)], more...)), int64(len(data)), sha256.New(), hex.EncodeToString(sum[:]))
	}
	s := openStore(t, t.TempDir())
	if _, err := s.Unpack(t.Context(), "x", right(nil), source.Limits{}); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]io.Reader{
		"longer":  right([]byte{0}),
		"shorter": pack.Verified(bytes.NewReader(data[:len(data)-1]), int64(len(data)), sha256.New(), hex.EncodeToString(sum[:])),
		"another": pack.Verified(bytes.NewReader(archive(t, true, file("a.yaml", "y"))), int64(len(data)), sha256.New(), hex.EncodeToString(sum[:])),
	} {
		if _, err := s.Unpack(t.Context(), name, from, source.Limits{}); err == nil || s.Named(name) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnusedPacksAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	used := treeOf(t, unpack(t, s, "used", archive(t, true, file("a.yaml", "1"))), "")
	unpack(t, s, "unused", archive(t, true, file("a.yaml", "2")))
	if err := s.Retain([]source.Artifact{{Files: used}}, time.Hour); err != nil || names(t, filepath.Join(dir, "packs")) != 2 {
		t.Errorf("within the time: %v, %d packs", err, names(t, filepath.Join(dir, "packs")))
	}
	if err := s.Retain([]source.Artifact{{Files: used}}, 0); err != nil {
		t.Fatal(err)
	}
	if s.Named("used") == nil || s.Named("unused") != nil || names(t, filepath.Join(dir, "packs")) != 1 || names(t, filepath.Join(dir, "names")) != 1 {
		t.Errorf("%d packs, %d names", names(t, filepath.Join(dir, "packs")), names(t, filepath.Join(dir, "names")))
	}
}

// TestAPackThatIsRenewedIsKept, and one that is gone or damaged cannot be renewed.
func TestAPackThatIsRenewedIsKept(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	p := unpack(t, s, "x", archive(t, true, file("a.yaml", "1")))
	all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	before := time.Now().Add(-48 * time.Hour)
	for _, path := range all {
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		idle time.Duration
		want bool
	}{{24 * time.Hour, true}, {0, false}} {
		if !s.Renew(p) {
			t.Error("a pack that is stored is not renewed")
		}
		if err := s.Retain(nil, c.idle); err != nil || s.Renew(p) != c.want {
			t.Errorf("after %s without use, %v: want it stored: %v", c.idle, err, c.want)
		}
	}
}

func TestAnEndedContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := openStore(t, t.TempDir()).Unpack(ctx, "x", bytes.NewReader(archive(t, true, file("a", "x"))), source.Limits{})
	if err == nil {
		t.Error("it went on")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, true, file("a/b.yaml", "x"), tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "../a"}))
	f.Add(archive(f, false, file("a/../b", "x"), tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "a"}))
	f.Add(archive(f, false, file("a", strings.Repeat("x", 2000)), file("a/b", "y")))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := openStore(t, dir)
		p, err := s.Unpack(t.Context(), "x", bytes.NewReader(data), source.Limits{Bytes: 1 << 20, Files: 100})
		if err != nil {
			return
		}
		files, err := p.Tree(t.Context(), tree.Rules{All: true})
		if err != nil {
			return
		}
		// Whatever was stored, the same is there after a restart, and each file can be read or says why not.
		again := openStore(t, dir).Named("x")
		if again == nil || treeOf(t, again, "").Digest() != treeOf(t, p, "").Digest() {
			t.Fatal("it is another after a restart")
		}
		err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Type()&fs.ModeSymlink != 0 || !fs.ValidPath(path) {
				return nil
			}
			_, err = fs.ReadFile(files, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
