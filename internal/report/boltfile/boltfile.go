// Package boltfile answers: is a file of bbolt whole, so that this process may work with it?
//
// In: the path, and what the file has to hold.
// Out: the open file.
// Promise: damage shows when the file is opened, and never ends the process; a file that is damaged or of another version is put aside and said, and
// a new one is begun; of a file that cannot be begun, as on a full disk, nothing is left.
// Not here: what is in the file (journal/bolt, notify/outbox).
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrInUse says that another process has the file open.
	ErrInUse = errors.New("another process has it open")
	// ErrForm says that a file is not in the form that this version of truce reads.
	ErrForm = errors.New("written by another version of truce")

	errDamaged = errors.New("damaged")
)

// OpenWhole opens a file, or makes it; ErrInUse where another process has it. prepare makes what the file lacks, in one change. A file that is damaged, or for
// which prepare returns ErrForm, is renamed, and a new one is begun.
func OpenWhole(path string, log *slog.Logger, prepare func(*bbolt.Tx) error) (*bbolt.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db, err := openOrRemove(path, prepare)
	if !errors.Is(err, errDamaged) && !errors.Is(err, ErrForm) {
		return db, err
	}
	aside := fmt.Sprintf("%s.damaged-%d", path, time.Now().Unix())
	log.Warn("the file cannot be used: put aside, a new one is begun", "file", path, "aside", aside, "error", err.Error())
	if err := os.Rename(path, aside); err != nil {
		return nil, fmt.Errorf("put the damaged file aside: %w", err)
	}
	return openOrRemove(path, prepare)
}

// openOrRemove opens a file, or makes it. One that is begun and cannot be finished is removed.
func openOrRemove(path string, prepare func(*bbolt.Tx) error) (*bbolt.DB, error) {
	_, absent := os.Stat(path)
	db, err := openChecked(path, prepare)
	if err != nil && errors.Is(absent, fs.ErrNotExist) && !errors.Is(err, ErrInUse) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return db, err
}

// openChecked opens a file and reads all of it once: damage shows here and not in the middle of work. bbolt panics at some of it.
func openChecked(path string, prepare func(*bbolt.Tx) error) (db *bbolt.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			if db != nil {
				_ = db.Close() // it is given up
			}
			db, err = nil, fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	db, err = openFile(path, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for damage := range tx.Check() {
			return fmt.Errorf("%w: %w", errDamaged, damage)
		}
		return prepare(tx)
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func openFile(path string, o *bbolt.Options) (*bbolt.DB, error) {
	if err := checkComplete(path); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, o)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrInUse
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return db, err
}

// ReadOnly has a file read that no process writes, and changes nothing of it: ErrInUse where one does.
func ReadOnly(path string, read func(*bbolt.DB) error) (err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt panics at some damage
			err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	db, err := openFile(path, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	return errors.Join(read(db), db.Close())
}
