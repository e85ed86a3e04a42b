// Package bolt answers: what happened lately, as a file on this machine remembers it?
//
// In: entries and memories (journal.Journal, journal.MemoryStore).
// Out: the same, after a restart too.
// Promise: one process at a time; writes are gathered and made safe within Delay; what could not be written is tried again; the oldest entries go when there are too many or they
// are too old; a damaged file, or one of another version, is put aside and said, never trusted.
// Not here: what entries mean (journal).
package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// Limits bound what is kept. Zero parts are those of DefaultLimits.
type Limits struct {
	Entries int
	Age     time.Duration
}

// DefaultLimits keep some tens of megabytes.
func DefaultLimits() Limits { return Limits{Entries: 100_000, Age: 30 * 24 * time.Hour} }

// Delay is how long a write may take until it is safe.
const Delay = 50 * time.Millisecond

// maxPending is how many entries may wait. More are dropped, and counted: no caller waits for the journal. Memories are not dropped: there is
// one for each object at most.
const maxPending = 8192

var (
	entriesBucket  = []byte("entries")
	memoriesBucket = []byte("memories")
	formBucket     = []byte("truce")
	formKey        = []byte("form")
)

// formatVersion is how entries and memories are written. A file without one is of the first form.
const formatVersion = "1"

// Journal is a file. It is closed by Close.
type Journal struct {
	db     *bbolt.DB
	limits Limits
	log    *slog.Logger

	entries chan *journal.Entry
	dirty   chan struct{} // holds a token when a memory is not in the file yet
	sync    chan chan struct{}
	done    chan struct{}
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	fresh   map[object.ID][]byte // memories that are not safe yet
	dropped int

	// Of the writer alone:
	count     int              // entries in the file
	unwritten []*journal.Entry // that could not be written
	pause     time.Duration    // before the next try
	again     <-chan time.Time // the next try; nil for none
}

var (
	_ journal.Journal     = (*Journal)(nil)
	_ journal.MemoryStore = (*Journal)(nil)
)

// OpenJournal opens the file, or makes it: boltfile.ErrInUse where another process has it. A file that is damaged or of another form is renamed, and a new one
// is begun. Where none can be made, as on a full disk, nothing is left of it.
func OpenJournal(path string, l Limits, log *slog.Logger) (*Journal, error) {
	d := DefaultLimits()
	if l.Entries == 0 {
		l.Entries = d.Entries
	}
	if l.Age == 0 {
		l.Age = d.Age
	}
	n := 0
	db, err := boltfile.OpenWhole(path, log, func(tx *bbolt.Tx) (err error) {
		n, err = prepare(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	j := &Journal{
		db: db, limits: l, log: log, count: n, fresh: map[object.ID][]byte{},
		entries: make(chan *journal.Entry, maxPending), dirty: make(chan struct{}, 1), sync: make(chan chan struct{}), done: make(chan struct{}), closed: make(chan struct{}),
	}
	go j.run()
	return j, nil
}

// prepare makes what a file lacks, and returns how many entries it has.
func prepare(tx *bbolt.Tx) (n int, err error) {
	if err := checkFormat(tx); err != nil {
		return 0, err
	}
	if _, err := tx.CreateBucketIfNotExists(memoriesBucket); err != nil {
		return 0, err
	}
	b, err := tx.CreateBucketIfNotExists(entriesBucket)
	if err != nil {
		return 0, err
	}
	err = b.ForEach(func(_, _ []byte) error { n++; return nil })
	return n, err
}

// checkFormat returns boltfile.ErrForm for a file of another form, and notes ours in one that has none.
func checkFormat(tx *bbolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists(formBucket)
	if err != nil {
		return err
	}
	if was := b.Get(formKey); was != nil && string(was) != formatVersion {
		return fmt.Errorf("%w: it has the form %q, and this one reads %q", boltfile.ErrForm, was, formatVersion)
	}
	return b.Put(formKey, []byte(formatVersion))
}

// Append notes entries.
func (j *Journal) Append(entries ...journal.Entry) {
	for i := range entries {
		select {
		case j.entries <- &entries[i]:
		default:
			j.mu.Lock()
			j.dropped++
			j.mu.Unlock()
		}
	}
}

// Remember keeps a memory. It is never dropped: until it is in the file, each write tries again.
func (j *Journal) Remember(id object.ID, memory []byte) {
	j.mu.Lock()
	j.fresh[id] = memory
	j.mu.Unlock()
	select {
	case j.dirty <- struct{}{}:
	default: // the writer is about to look
	}
}

// Recall returns the memory of an object.
func (j *Journal) Recall(id object.ID) ([]byte, error) {
	j.mu.Lock()
	fresh, ok := j.fresh[id]
	j.mu.Unlock()
	if ok {
		return fresh, nil
	}
	var out []byte
	err := j.db.View(func(tx *bbolt.Tx) error {
		out = bytes.Clone(tx.Bucket(memoriesBucket).Get([]byte(id.String())))
		return nil
	})
	return out, err
}

// Read hands over entries, those of the last moment included.
func (j *Journal) Read(q journal.Query, seen func(journal.Entry) bool) error {
	j.flush()
	return readEntries(j.db, q, seen)
}

// flush returns when all that was written before is safe, or the journal is closed.
func (j *Journal) flush() {
	ack := make(chan struct{})
	select {
	case j.sync <- ack:
		<-ack
	case <-j.closed:
	}
}

// Close makes everything safe and closes the file.
func (j *Journal) Close() error {
	var err error
	j.once.Do(func() {
		close(j.done)
		<-j.closed
		err = j.db.Close()
	})
	return err
}

// entryKey orders entries by time, and those of one moment by their number.
func entryKey(at time.Time, n uint64) []byte {
	nanos := int64(0)
	if !at.IsZero() { // whose nanoseconds overflow
		nanos = max(0, at.UnixNano())
	}
	key := binary.BigEndian.AppendUint64(nil, uint64(nanos))
	return binary.BigEndian.AppendUint64(key, n)
}
