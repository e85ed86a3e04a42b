// Package state answers: is this directory ours, and may we use it now?
//
// In: the path given with --dir.
// Out: a locked directory, its file names, the port it used last.
// Promise: one process at a time; a directory that holds anything else is never written to.
// Not here: what the files mean (pki, etcd).
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	markerName = ".truce-sandbox"
	// layout is written into the marker. A change to what the directory holds
	// changes it, so that an old sandbox is refused by name, not by a crash.
	layout = "truce-sandbox layout 1"
)

// Dir is a directory that belongs to this process until Close.
type Dir struct {
	path string
	// marker carries the lock: the kernel lets go of it when the process ends,
	// however it ends, so that no stale lock can exist.
	marker *os.File
}

// OpenDir makes the directory if there is none and locks it. The errors name the
// path and the way out; ErrForeign and ErrInUse are found with errors.Is.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("directory %s: %w", abs, err)
	}
	if err := refuseForeign(abs); err != nil {
		return nil, err
	}
	marker, err := lockFile(filepath.Join(abs, markerName))
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", abs, err)
	}
	return &Dir{path: abs, marker: marker}, nil
}

var (
	// ErrForeign says that the directory holds files of someone else.
	ErrForeign = errors.New("it is not empty and not a sandbox's; choose a new or empty directory")
	// ErrInUse says that another sandbox runs on the directory.
	ErrInUse = errors.New("another sandbox runs on it; stop that one or choose another directory")
)

func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("directory %s: %w", dir, err)
	}
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == markerName })
	if len(entries) > 0 && !ours {
		return fmt.Errorf("directory %s: %w", dir, ErrForeign)
	}
	return nil
}

func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := claimLock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// claimLock locks the marker, checks the layout it names and writes our process
// id beside it, for the message that a second instance prints.
func claimLock(f *os.File) error {
	old, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	made, pid, _ := strings.Cut(strings.TrimSpace(string(old)), "\n")
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w (%s)", ErrInUse, pid)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if made != "" && made != layout {
		return fmt.Errorf("%s says %q, this program knows %q; choose a new directory or remove this one", markerName, made, layout)
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%s\npid %d\n", layout, os.Getpid()), 0)
	return err
}

// Path is the absolute name of a file or directory inside.
func (d *Dir) Path(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// Make returns a directory inside, made with mode 0700 if there is none.
func (d *Dir) Make(name string) (string, error) {
	path := d.Path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("directory %s: %w", path, err)
	}
	return path, nil
}

// Close lets another process have the directory.
func (d *Dir) Close() error { return d.marker.Close() }
