package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// checkData finds the damage that etcd reports badly or not at all: on a log that
// it cannot read it trips over its own clean-up, with a database and no log it
// waits for ever, and a database that it cannot open, or not read, ends the process.
func checkData(dir string, log *zap.Logger) error {
	logged, err := checkLog(filepath.Join(dir, "member", "wal"), log)
	if err != nil {
		return err
	}
	database := databaseIn(dir)
	info, err := os.Stat(database)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // new, or rebuilt from the log
	}
	if err != nil {
		return err
	}
	if !logged {
		return fmt.Errorf("%s has lost its write-ahead log", filepath.Join(dir, "member"))
	}
	return checkUnlessClean(dir, database)
}

// checkLog reads the write-ahead log through, with its checksums, and reports
// whether there is one.
func checkLog(dir string, log *zap.Logger) (bool, error) {
	if !wal.Exist(dir) {
		return false, nil
	}
	// The first record of every log says where it begins; one without it was
	// overwritten or cut off at the start.
	begins, err := wal.ValidSnapshotEntries(log, dir)
	if err == nil && len(begins) == 0 {
		err = errors.New("it has no readable record")
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", dir, err)
	}
	return true, nil
}
