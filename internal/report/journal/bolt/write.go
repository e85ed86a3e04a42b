package bolt

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// run gathers what comes within Delay into one transaction. What could not be written is tried again.
func (j *Journal) run() {
	defer close(j.closed)
	for {
		select {
		case e := <-j.entries:
			j.commit(j.gather([]*journal.Entry{e}, time.After(Delay)))
		case <-j.dirty:
			j.commit(j.gather(nil, time.After(Delay)))
		case <-j.again:
			j.commit(nil)
		case ack := <-j.sync:
			j.commit(j.waiting(nil))
			close(ack)
		case <-j.done:
			j.commit(j.waiting(nil))
			return
		}
	}
}

func (j *Journal) gather(batch []*journal.Entry, until <-chan time.Time) []*journal.Entry {
	for len(batch) < maxPending {
		select {
		case e := <-j.entries:
			batch = append(batch, e)
		case ack := <-j.sync:
			j.commit(j.waiting(batch))
			close(ack)
			return nil
		case <-until:
			return batch
		case <-j.done:
			return batch
		}
	}
	return batch
}

// waiting adds what has been handed in and not been taken.
func (j *Journal) waiting(batch []*journal.Entry) []*journal.Entry {
	for {
		select {
		case e := <-j.entries:
			batch = append(batch, e)
		default:
			return batch
		}
	}
}

// commit writes the entries, those that could not be written before, and every memory that is not in the file yet.
func (j *Journal) commit(batch []*journal.Entry) {
	j.complain()
	batch = append(j.unwritten, batch...)
	memories := j.memories()
	if len(batch)+len(memories) == 0 {
		return
	}
	count, err := j.write(batch, memories)
	if err != nil {
		j.postpone(batch, err)
		return
	}
	j.count, j.unwritten, j.again, j.pause = count, nil, nil, 0
	j.safe(memories)
}

// The pauses after which what could not be written is tried again: the first, doubled by each further failure, and the longest.
const (
	firstAgain = time.Second
	mostAgain  = time.Minute
)

// postpone keeps entries that could not be written, as many as may wait, and has them tried again. Memories wait by themselves.
func (j *Journal) postpone(batch []*journal.Entry, err error) {
	lost := max(0, len(batch)-maxPending)
	j.unwritten = batch[lost:]
	j.pause = min(max(2*j.pause, firstAgain), mostAgain)
	j.again = time.After(j.pause)
	j.log.Warn("journal: not written, tried again", "after", j.pause.String(), "entries", len(j.unwritten), "lost", lost, "error", err.Error())
}

// write makes one transaction, and returns how many entries there are then.
func (j *Journal) write(batch []*journal.Entry, memories map[object.ID][]byte) (count int, err error) {
	count = j.count
	err = j.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(memoriesBucket)
		for id, memory := range memories {
			if err := putMemory(b, []byte(id.String()), memory); err != nil {
				return err
			}
		}
		for _, e := range batch {
			if err := j.putEntry(tx.Bucket(entriesBucket), e); err != nil {
				return err
			}
			count++
		}
		gone, err := j.trim(tx.Bucket(entriesBucket), count)
		count -= gone
		return err
	})
	return count, err
}

func putMemory(b *bbolt.Bucket, key, memory []byte) error {
	if memory == nil {
		return b.Delete(key)
	}
	return b.Put(key, memory)
}

func (j *Journal) putEntry(b *bbolt.Bucket, e *journal.Entry) error {
	text, err := json.Marshal(e)
	if err != nil { // another try fails as well: the entry is kept without its values
		j.log.Warn("journal: entry without its values", "object", e.Object.String(), "field", e.Path, "error", err.Error())
		bare := *e
		bare.Git, bare.Live, bare.Before = nil, nil, nil
		if text, err = json.Marshal(bare); err != nil {
			return err
		}
	}
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(entryKey(e.At, n), text)
}

// trim deletes the oldest entries where there are too many, and those that are too old, and returns how many.
func (j *Journal) trim(b *bbolt.Bucket, count int) (int, error) {
	old := entryKey(time.Now().Add(-j.limits.Age), 0)
	gone := 0
	c := b.Cursor()
	for k, _ := c.First(); k != nil && (count-gone > j.limits.Entries || bytes.Compare(k, old) < 0); k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return 0, err
		}
		gone++
	}
	return gone, nil
}

// memories are those that are not in the file yet.
func (j *Journal) memories() map[object.ID][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.fresh)
}

// safe forgets what is in the file now; a memory that was renewed meanwhile stays.
func (j *Journal) safe(written map[object.ID][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, memory := range written {
		if bytes.Equal(j.fresh[id], memory) {
			delete(j.fresh, id)
		}
	}
}

// complain says once for each time that entries were dropped.
func (j *Journal) complain() {
	j.mu.Lock()
	n := j.dropped
	j.dropped = 0
	j.mu.Unlock()
	if n > 0 {
		j.log.Warn("journal: too much at once", "dropped", n)
	}
}
