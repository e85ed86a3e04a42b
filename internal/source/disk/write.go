package disk

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// Replacement is the new content of one file of a directory.
type Replacement struct {
	Name          string
	Before, After []byte // Before is what must be there; After is nil for a file that goes
}

// ErrChanged says that a file is not any more what it was when it was read.
var ErrChanged = errors.New("it has changed since it was read")

// Replace writes files of a directory. Either form of each is there at any time, with its mode; where one cannot be written as it should, none
// is begun. It refuses what is no regular file, and what is reached through a link.
func Replace(dir string, all []Replacement) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var half []string
	for _, r := range all {
		name, err := prepare(root, r)
		half = append(half, name)
		if err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", r.Name, err), discard(root, half))
		}
	}
	for i, r := range all {
		if r.After == nil {
			err = root.Remove(r.Name)
		} else if err = root.Rename(half[i], r.Name); err == nil {
			half[i] = ""
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", r.Name, err), discard(root, half))
		}
	}
	return nil
}

// prepare writes the new content beside the file.
func prepare(root *os.Root, r Replacement) (string, error) {
	for at := r.Name; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			return "", fmt.Errorf("%s is a symbolic link", at)
		}
	}
	info, err := root.Lstat(r.Name)
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errIrregular)
	}
	now, err := root.ReadFile(r.Name)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(now, r.Before) {
		return "", ErrChanged
	}
	if r.After == nil {
		return "", nil
	}
	name := path.Join(path.Dir(r.Name), "."+path.Base(r.Name)+"."+rand.Text()[:8])
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return "", err
	}
	_, err = f.Write(r.After)
	return name, errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
}

func discard(root *os.Root, names []string) error {
	var err error
	for _, name := range names {
		if name != "" {
			err = errors.Join(err, root.Remove(name))
		}
	}
	return err
}
