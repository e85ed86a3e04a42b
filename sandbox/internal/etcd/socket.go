package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

const (
	socketName = "client.sock"
	// pathLimit is the least any supported kernel takes for a socket's name
	// (macOS 104 with its NUL, Linux 108).
	pathLimit = 103
)

// socketDir is where the socket lives: beside the data where the name suits,
// else in the directory for temporary files.
type socketDir struct {
	path string
	// temporary directories are ours to remove.
	temporary bool
}

func newSocketDir(data string) (socketDir, error) {
	if isSocketDir(data) {
		return socketDirBeside(data)
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		path, err := os.MkdirTemp(base, "truce-sandbox-")
		if err != nil {
			return socketDir{}, fmt.Errorf("directory for the etcd socket: %w", err)
		}
		dir := socketDir{path: path, temporary: true}
		if isSocketDir(path) {
			return dir, nil
		}
		dir.remove()
	}
	return socketDir{}, errors.New("directory for the etcd socket: every name is too long or holds special characters; set TMPDIR to a short path")
}

// isSocketDir reports whether a socket in the directory has a name that the kernel
// takes and that means the same in a URL and in a list with commas.
func isSocketDir(dir string) bool {
	plain := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-", r))
	}
	special := strings.ContainsFunc(dir, func(r rune) bool { return !plain(r) })
	return len(filepath.Join(dir, socketName)) <= pathLimit && !special
}

func socketDirBeside(data string) (socketDir, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return socketDir{}, err
	}
	// A killed predecessor leaves its socket behind; we hold the directory's lock.
	err := os.Remove(filepath.Join(data, socketName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return socketDir{}, err
	}
	return socketDir{path: data}, nil
}

// remove reports no error: the system cleans the directory for temporary files.
func (d socketDir) remove() {
	if d.temporary {
		_ = os.RemoveAll(d.path)
	}
}
