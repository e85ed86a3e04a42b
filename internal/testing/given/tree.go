package given

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"testing/fstest"
)

// Tree is a source.Tree in memory.
type Tree struct{ fstest.MapFS }

// Files returns a tree of files: a path, its text, another path, and so on.
func Files(pathsAndTexts ...string) Tree {
	t := Tree{fstest.MapFS{}}
	for i := 0; i < len(pathsAndTexts); i += 2 {
		t.Put(pathsAndTexts[i], pathsAndTexts[i+1])
	}
	return t
}

// FilesOf returns a tree of texts by their paths.
func FilesOf(texts map[string]string) Tree {
	t := Tree{fstest.MapFS{}}
	for path, text := range texts {
		t.Put(path, text)
	}
	return t
}

// Put adds a file, or replaces it.
func (t Tree) Put(path, text string) { t.MapFS[path] = &fstest.MapFile{Data: []byte(text)} }

// Sum implements source.Tree.
func (t Tree) Sum(path string) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(t.MapFS, path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(t.MapFS, name)
		fmt.Fprintf(h, "%q %q\n", name, text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
