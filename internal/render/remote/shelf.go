package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// fileCache keeps files by the SHA-256 of their content in a directory. What lies there is checked whenever it is read.
type fileCache struct{ dir string }

func (s fileCache) has(sum string) bool {
	if sum == "" {
		return false
	}
	data, err := os.ReadFile(filepath.Join(s.dir, sum))
	return err == nil && hexDigest(data) == sum
}

func (s fileCache) read(sum string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, sum))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("its copy was removed")
	case err != nil:
		return nil, err
	case hexDigest(data) != sum:
		return nil, errors.New("its copy was changed")
	}
	return data, nil
}

// put writes a file whole, or not at all.
func (s fileCache) put(sum string, data []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keep a remote file: %w", err)
	}
	f, err := os.CreateTemp(s.dir, "new-")
	if err != nil {
		return fmt.Errorf("keep a remote file: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, sum))
	}
	if err != nil {
		return fmt.Errorf("keep a remote file: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// tidy removes what is not used and was not written for so long.
func (s fileCache) tidy(used map[string]bool, idle time.Duration) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, gone := e.Info()
		if gone != nil || used[e.Name()] || time.Since(info.ModTime()) < idle {
			continue
		}
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, e.Name())))
	}
	return err
}
