package bolt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// ReadFile hands over the entries of a journal that no process writes, and changes nothing of it: boltfile.ErrInUse where one does.
func ReadFile(path string, q journal.Query, seen func(journal.Entry) bool) error {
	err := boltfile.ReadOnly(path, func(db *bbolt.DB) error { return readEntries(db, q, seen) })
	if err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	return nil
}

// pageLength is how many entries are read in one transaction. Who reads may be slow, and a transaction that stays open holds up the writer.
const pageLength = 512

func readEntries(db *bbolt.DB, q journal.Query, seen func(journal.Entry) bool) error {
	from := entryKey(q.Since, 0)
	for from != nil {
		entries, next, err := readPage(db, from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if q.Matches(e) && !seen(e) {
				return nil
			}
		}
		from = next
	}
	return nil
}

// readPage returns entries from a key on, and the key of the one after them; nil for none.
func readPage(db *bbolt.DB, from []byte) (entries []journal.Entry, next []byte, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(entriesBucket)
		if b == nil {
			return errors.New("no journal of truce")
		}
		c := b.Cursor()
		for k, v := c.Seek(from); k != nil; k, v = c.Next() {
			if len(entries) == pageLength {
				next = bytes.Clone(k)
				return nil
			}
			var e journal.Entry
			if json.Unmarshal(v, &e) == nil { // what cannot be read hides nothing else
				entries = append(entries, e)
			}
		}
		return nil
	})
	return entries, next, err
}
