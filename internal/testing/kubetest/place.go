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

// places is how many sandboxes may run on a machine at once: each takes 340 MiB and, while it starts, a core.
const places = 2

// place is the right to run one sandbox, and the directory for it. The directory bears the place's number, so that
// what a killed test left behind is removed by the next.
type place struct {
	dir  string
	lock *os.File
}

// takePlace waits until a place is free and returns it, empty. The lock is the kernel's, so it ends with its holders
// however they end.
func takePlace(ctx context.Context, under string) (*place, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		for n := range places {
			p, err := tryPlace(filepath.Join(under, fmt.Sprintf("truce-kubetest-%d-%d", os.Getuid(), n)))
			if p != nil || err != nil {
				return p, err
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("kubetest: wait for one of %d places in %s: %w", places, under, ctx.Err())
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
