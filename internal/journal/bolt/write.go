package bolt

import (
	"bytes"
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/object"
)

// run gathers what comes within Delay into one transaction.
func (j *Journal) run() {
	defer close(j.closed)
	for {
		select {
		case w := <-j.writes:
			j.commit(j.gather(w, time.After(Delay)))
		case ack := <-j.sync:
			j.commit(j.waiting(nil))
			close(ack)
		case <-j.done:
			j.commit(j.waiting(nil))
			return
		}
	}
}

func (j *Journal) gather(first write, until <-chan time.Time) []write {
	batch := []write{first}
	for len(batch) < pending {
		select {
		case w := <-j.writes:
			batch = append(batch, w)
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
func (j *Journal) waiting(batch []write) []write {
	for {
		select {
		case w := <-j.writes:
			batch = append(batch, w)
		default:
			return batch
		}
	}
}

func (j *Journal) commit(batch []write) {
	j.complain()
	if len(batch) == 0 {
		return
	}
	count := j.count
	err := j.db.Update(func(tx *bbolt.Tx) error {
		for _, w := range batch {
			if err := put(tx, w); err != nil {
				return err
			}
			if w.entry != nil {
				count++
			}
		}
		gone, err := j.trim(tx.Bucket(entriesBucket), count)
		count -= gone
		return err
	})
	if err != nil {
		j.log.Warn("journal", "lost", len(batch), "error", err.Error())
		return
	}
	j.count = count
	j.safe(batch)
}

func put(tx *bbolt.Tx, w write) error {
	if w.entry == nil {
		b, key := tx.Bucket(memoriesBucket), []byte(w.id.String())
		if w.memory == nil {
			return b.Delete(key)
		}
		return b.Put(key, w.memory)
	}
	text, err := json.Marshal(w.entry)
	if err != nil {
		return err
	}
	b := tx.Bucket(entriesBucket)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(keyOf(w.entry.At, n), text)
}

// trim deletes the oldest entries where there are too many, and those that are too old, and returns how many.
func (j *Journal) trim(b *bbolt.Bucket, count int) (int, error) {
	old := keyOf(time.Now().Add(-j.limits.Age), 0)
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

// safe forgets what is in the file now; a memory that was renewed meanwhile stays.
func (j *Journal) safe(batch []write) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, w := range batch {
		if w.id != (object.ID{}) && bytes.Equal(j.fresh[w.id], w.memory) {
			delete(j.fresh, w.id)
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
