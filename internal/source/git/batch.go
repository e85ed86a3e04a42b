package git

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // git's own hash
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

const (
	readTimeout = time.Minute      // one object
	idleTimeout = 30 * time.Second // then the process ends, and the blobs that were read are let go; the next read starts again
)

// The sizes of what is read into memory: of files, of directories, and of commits and tags.
const (
	mostObject = 512 << 20
	mostTree   = 64 << 20
	mostHead   = 1 << 20
)

var errClosed = errors.New("the git store is closed")

// mostWaiting is how many processes wait for another read at a time. An app of a repository of its own reads once for a commit: a process for each of a
// thousand, for half a minute, is half a gigabyte.
const mostWaiting = 8

// waitingReaders are the readers whose processes wait for another read, the one that has waited longest first.
type waitingReaders struct {
	mu  sync.Mutex
	all []*objectReader
}

// add has a reader wait, and returns the one that waits no more; nil for none.
func (w *waitingReaders) add(o *objectReader) *objectReader {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(slices.DeleteFunc(w.all, func(r *objectReader) bool { return r == o }), o)
	if len(w.all) <= mostWaiting {
		return nil
	}
	first := w.all[0]
	w.all = w.all[1:]
	return first
}

func (w *waitingReaders) remove(o *objectReader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(w.all, func(r *objectReader) bool { return r == o })
}

// objectReader reads objects of one repository through one long-lived `git cat-file --batch-command`. Such a process sees
// objects that are added later, and survives a repack under it.
type objectReader struct {
	start   func() *exec.Cmd
	waiting *waitingReaders // of all repositories of the store

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	idle   *time.Timer
	closed bool
}

// object is what a hash names.
type object struct {
	kind string // blob, commit, tree, tag; "" if absent
	hash string
	size int64
	data []byte
}

// request is what is asked about objects (git-cat-file(1), --batch-command).
type request string

const (
	contents request = "contents"
	info     request = "info" // without the data
)

// read returns the object that a name of gitrevisions(7) leads to. Its content is checked against its hash. A process
// that died is replaced once.
func (o *objectReader) read(name string) (got object, err error) {
	err = o.each(contents, []string{name}, func(_ int, answer object) error {
		got = answer
		return nil
	})
	return got, err
}

// mostAsked is how many objects are asked about before the lock is free for other reads.
const mostAsked = 256

// each takes the answers about some names, in their order. Contents are checked against their hashes. A name is asked about again where the process
// has died, so that take may see an answer twice.
func (o *objectReader) each(what request, names []string, take func(i int, answer object) error) error {
	first := 0
	for some := range slices.Chunk(names, mostAsked) {
		err := o.readLocked(what, some, func(i int, answer object) error { return take(first+i, answer) })
		// Another reader's lock is tried when this one's is free: whose lock is taken then reads, and waits again afterwards.
		if other := o.waiting.add(o); other != nil && other.mu.TryLock() {
			other.stop()
			other.mu.Unlock()
		}
		if err != nil {
			return err
		}
		first += len(some)
	}
	return nil
}

func (o *objectReader) readLocked(what request, names []string, take func(int, object) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errClosed
	}
	fresh := o.cmd == nil
	err := o.ask(what, names, take)
	if err != nil && !fresh {
		o.stop()
		err = o.ask(what, names, take)
	}
	if err != nil {
		o.stop()
		return err
	}
	o.restWhenIdle()
	return nil
}

// ask sends questions and reads the answers. It must not be left half way: the caller stops the process on error.
func (o *objectReader) ask(what request, names []string, take func(int, object) error) error {
	if err := o.run(); err != nil {
		return err
	}
	guard := time.AfterFunc(readTimeout, killGroup(o.cmd))
	defer guard.Stop()
	var questions strings.Builder
	for _, name := range names {
		fmt.Fprintf(&questions, "%s %s\n", what, name)
	}
	questions.WriteString("flush\n") // until then git only reads
	if _, err := io.WriteString(o.in, questions.String()); err != nil {
		return fmt.Errorf("read object %s: %w", names[0], err)
	}
	for i, name := range names {
		answer, err := o.answer(what)
		if err == nil {
			err = verifyHash(what, answer)
		}
		if err == nil {
			err = take(i, answer)
		}
		if err != nil {
			return fmt.Errorf("read object %s: %w", name, err)
		}
	}
	return nil
}

func (o *objectReader) answer(what request) (object, error) {
	header, err := o.out.ReadString('\n')
	if err != nil {
		return object{}, err
	}
	fields := strings.Fields(header)
	if len(fields) == 2 && fields[1] == "missing" {
		return object{}, nil
	}
	if len(fields) != 3 {
		return object{}, fmt.Errorf("git cat-file: unexpected answer %q", header)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return object{}, err
	}
	got := object{kind: fields[1], hash: fields[0], size: size}
	if what == info {
		return got, nil
	}
	if size > sizeLimit(got.kind) {
		return object{}, sourceError(source.LimitExceeded, "the %s has %d bytes", got.kind, size)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return object{}, err
	}
	got.data = data[:size]
	return got, nil
}

// sizeLimit is the size of the largest object of a kind that is read.
func sizeLimit(kind string) int64 {
	switch kind {
	case "blob":
		return mostObject
	case "tree":
		return mostTree
	}
	return mostHead
}

func (o *objectReader) run() error {
	if o.cmd != nil {
		return nil
	}
	cmd := o.start()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	o.cmd, o.in, o.out = cmd, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// restWhenIdle ends the process when it was idle for a while.
func (o *objectReader) restWhenIdle() {
	o.stayAwake()
	cmd := o.cmd
	o.idle = time.AfterFunc(idleTimeout, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.cmd == cmd {
			o.stop()
		}
	})
}

// stayAwake drops the timer. It holds the command that it would end, which has an environment of some KiB, for as long as it is kept.
func (o *objectReader) stayAwake() {
	if o.idle != nil {
		o.idle.Stop()
		o.idle = nil
	}
}

func (o *objectReader) stop() {
	if o.cmd == nil {
		return
	}
	o.stayAwake()
	o.waiting.remove(o)
	killGroup(o.cmd)()
	_ = o.cmd.Wait() // killed by us: its answer says nothing
	o.cmd, o.in, o.out = nil, nil, nil
}

// reset ends the process; the next read starts another, of the repository as it is then.
func (o *objectReader) reset() { _ = o.pause(func() error { return nil }) }

// pause runs f while no process reads the repository, and nothing is read.
func (o *objectReader) pause(f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
	return f()
}

func (o *objectReader) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

func (o *objectReader) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.stop()
}

// killGroup ends cmd and its process group.
func killGroup(cmd *exec.Cmd) func() {
	return func() { _ = cmd.Cancel() } // it may have ended by itself
}

// newObjects prepares a reader of dir; the process starts with the first read.
func newObjects(r runner, dir string, waiting *waitingReaders) *objectReader {
	return &objectReader{waiting: waiting, start: func() *exec.Cmd {
		return r.command(context.Background(), dir, offline, "cat-file", "--batch-command", "--buffer")
	}}
}

// verifyHash recomputes an object's hash: git itself does not when it reads.
func verifyHash(what request, o object) error {
	if o.kind == "" || what == info {
		return nil
	}
	h := sha1.New() //nolint:gosec // git's own hash
	if len(o.hash) == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", o.kind, len(o.data))
	h.Write(o.data)
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != o.hash {
		return fmt.Errorf("object %s is corrupt: its content has the hash %s", o.hash, got)
	}
	return nil
}
