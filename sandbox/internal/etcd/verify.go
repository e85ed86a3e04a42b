package etcd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// VerifyCommand is the argument with which the program calls itself to read a database through; its second is the file. Damage deep
// inside can end the process that meets it (bbolt panics in goroutines of its own, and pages may lie outside of the file), and etcd
// would meet it at any later time. So a process of its own reads it, before etcd does.
const VerifyCommand = "verify-database"

// VerifyMain reads the database through, and prints what is wrong with it.
func VerifyMain(file string) int {
	if err := verifyFile(file); err != nil {
		fmt.Fprintln(os.Stdout, strings.Join(strings.Fields(err.Error()), " "))
		return 1
	}
	return 0
}

func verifyFile(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("it is cut off: %d bytes of %d", info.Size(), tx.Size())
		}
		var first error
		for err := range tx.Check() {
			if first == nil {
				first = err
			}
		}
		return first
	})
}

// checkUnlessClean reports damage of the database, unless it is as the last run has left it when that ended in order.
func checkUnlessClean(dir, database string) error {
	if left, err := os.ReadFile(markerIn(dir)); err == nil && string(left) == databaseStamp(database) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.Command(self, VerifyCommand, database).Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("read %s through: %w", database, err)
	case len(out) == 0:
		return fmt.Errorf("%s: some of its pages make no sense", database)
	}
	return fmt.Errorf("%s: %s", database, strings.TrimSpace(string(out)))
}

func markerIn(dir string) string { return filepath.Join(dir, "ended") }

// databaseStamp changes whenever the database is written.
func databaseStamp(database string) string {
	info, err := os.Stat(database)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d bytes, %s\n", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// markClean notes in which state the database was left.
func markClean(dir string) error {
	return os.WriteFile(markerIn(dir), []byte(databaseStamp(databaseIn(dir))), 0o600)
}

func databaseIn(dir string) string { return filepath.Join(dir, "member", "snap", "db") }
