package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Sandboxes that may run on a machine at once: each takes 340 MiB, after twenty minutes of stories 1.4 GiB, and, while it starts, a core. The second one of a test has a place of its
// own: a test that holds one of the first waits for no other package, and two such tests never for each other's first.
var (
	places = []string{"0", "1", "2", "3"}
	second = []string{"second"}
)

// place is the right to run one sandbox, and the directory for it. The directory bears the place's number, so that
// what a killed test left behind is removed by the next.
type place struct {
	dir  string
	lock *os.File
}

// takePlace waits until one of the places is free and returns it, empty. The lock is the kernel's, so it ends with its holders
// however they end.
func takePlace(ctx context.Context, under string, of []string) (*place, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		for _, name := range of {
			p, err := tryPlace(filepath.Join(under, fmt.Sprintf("truce-kubetest-%d-%s", os.Getuid(), name)))
			if p != nil || err != nil {
				return p, err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("kubetest: wait for one of the places %v in %s: %w", of, under, ctx.Err())
		}
	}
}

// tryPlace returns nil and no error when the place is taken.
func tryPlace(dir string) (*place, error) {
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("kubetest: take a place: %w", err)
	}
	p := &place{dir: dir, lock: lock}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, lock.Close()
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kubetest: take a place: %w", err), lock.Close())
	}
	return p, nil
}

// leave empties the place and gives it back. The lock file stays: removing it would let two hold the same place.
func (p *place) leave() error {
	return errors.Join(os.RemoveAll(p.dir), p.lock.Close())
}
