package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
)

// info is what a worker may know of a file. It implements fs.FileInfo and fs.DirEntry.
type info struct {
	N string      // name
	M fs.FileMode // type bits
	S int64       // size
}

func (i info) Name() string               { return i.N }
func (i info) Size() int64                { return i.S }
func (i info) Mode() fs.FileMode          { return i.M | 0o444 }
func (i info) Type() fs.FileMode          { return i.M.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.M.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// asker asks the pool about the tree and waits for the answer.
type asker func(askHead) (answerHead, []byte, error)

// tree is the tree as a worker sees it: every question goes through the pipe once and is remembered for the build.
type tree struct {
	ask asker

	mu    sync.Mutex
	known map[askHead]answer
}

type answer struct {
	head answerHead
	body []byte
}

func newTree(ask asker) *tree { return &tree{ask: ask, known: map[askHead]answer{}} }

func (t *tree) get(o op, name string) (answer, error) {
	if !fs.ValidPath(name) {
		return answer{}, &fs.PathError{Op: string(o), Path: name, Err: fs.ErrInvalid}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q := askHead{Op: o, Path: name}
	a, ok := t.known[q]
	if !ok {
		head, body, err := t.ask(q)
		if err != nil {
			return answer{}, err
		}
		a = answer{head, body}
		t.known[q] = a
	}
	switch {
	case a.head.Absent:
		return a, &fs.PathError{Op: string(o), Path: name, Err: fs.ErrNotExist}
	case a.head.Error != "":
		return a, errors.New(a.head.Error)
	}
	return a, nil
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	a, err := t.get(opStat, name)
	if err != nil {
		return nil, err
	}
	return a.head.Info, nil
}

// ReadFile implements fs.ReadFileFS. The bytes are the caller's.
func (t *tree) ReadFile(name string) ([]byte, error) {
	a, err := t.get(opRead, name)
	return bytes.Clone(a.body), err
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	a, err := t.get(opList, name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(a.head.List))
	for _, i := range a.head.List {
		entries = append(entries, entry{i, t, path.Join(name, i.N)})
	}
	return entries, nil
}

// entry is a name in a directory. Its size is asked for when it is wanted.
type entry struct {
	info
	tree *tree
	path string
}

func (e entry) Info() (fs.FileInfo, error) { return e.tree.Stat(e.path) }

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	i, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		entries, err := t.ReadDir(name)
		return &openDir{info: i, left: entries}, err
	}
	data, err := t.ReadFile(name)
	return &openFile{info: i, Reader: bytes.NewReader(data)}, err
}

// Sum implements source.Tree. A worker has no use for it, and asking would be one more thing that it may do.
func (t *tree) Sum(name string) (string, error) {
	return "", fmt.Errorf("sum %s: %w", name, errors.ErrUnsupported)
}

type openFile struct {
	info fs.FileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info fs.FileInfo
	left []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.left) {
		if n > 0 && len(d.left) == 0 {
			return nil, io.EOF
		}
		n = len(d.left)
	}
	now := d.left[:n]
	d.left = d.left[n:]
	return now, nil
}

// answerQuestion answers a worker's question from the real tree. It runs in the pool's process.
func answerQuestion(files source.Tree, q askHead, limit int64) (answerHead, []byte) {
	if !fs.ValidPath(q.Path) {
		return answerHead{Absent: true}, nil
	}
	a, body, err := readAnswer(files, q, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return answerHead{Absent: true}, nil
	case err != nil:
		return answerHead{Error: err.Error()}, nil
	}
	return a, body
}

func readAnswer(files source.Tree, q askHead, limit int64) (answerHead, []byte, error) {
	switch q.Op {
	case opStat:
		i, err := fs.Stat(files, q.Path)
		if err != nil {
			return answerHead{}, nil, err
		}
		return answerHead{Info: info{path.Base(q.Path), i.Mode().Type(), i.Size()}}, nil, nil
	case opRead:
		body, err := render.ReadFile(files, q.Path, limit)
		return answerHead{}, body, err
	case opList:
		entries, err := fs.ReadDir(files, q.Path)
		list := make([]info, 0, len(entries))
		for _, e := range entries {
			list = append(list, info{N: e.Name(), M: e.Type()})
		}
		return answerHead{List: list}, nil, err
	}
	return answerHead{}, nil, fmt.Errorf("unknown question %q", q.Op)
}
