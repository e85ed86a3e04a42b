// Package outbox answers: what has been said, and what still has to be sent, after a restart too?
//
// In: the states of matters, and notes for Providers.
// Out: the same.
// Promise: what one Update writes is in the file whole or not at all, also after SIGKILL; each Provider's queue is bounded: repeated notices go
// first, then news, then the oldest, and they are counted; a damaged file is put aside, and a new one is begun.
// Not here: which messages are said (matter), sending them (deliver).
package outbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// Most is how many notes may wait for one Provider.
const Most = 1000

// slack is how many more there may be before the queue is looked through.
const slack = 100

var (
	statesBucket  = []byte("states")
	queuesBucket  = []byte("queues")
	droppedBucket = []byte("dropped")
	fileBucket    = []byte("file") // what is known of the file
)

// Store is a file. It may be used concurrently.
type Store struct {
	db *bbolt.DB

	mu     sync.Mutex
	counts map[string]int // of the queues that were written since the start
}

// OpenStore opens the file, or makes it.
func OpenStore(path string, log *slog.Logger) (*Store, error) {
	db, err := boltfile.OpenWhole(path, log, func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{statesBucket, queuesBucket, droppedBucket, fileBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("notifications %s: %w", path, err)
	}
	return &Store{db: db, counts: map[string]int{}}, nil
}

// Queues returns for which Providers something was stored.
func (s *Store) Queues() (keys []route.Key, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(queuesBucket).ForEachBucket(func(name []byte) error {
			namespace, rest, _ := strings.Cut(string(name), "/")
			keys = append(keys, route.Key{Namespace: namespace, Name: rest})
			return nil
		})
	})
	return keys, err
}

// States returns the states of the matters whose keys begin with a prefix.
func (s *Store) States(prefix string) (out map[string]matter.State, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		out = (&Tx{tx: tx}).States(prefix)
		return nil
	})
	return out, err
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Tx is one change of the file.
type Tx struct {
	tx     *bbolt.Tx
	counts map[string]int
}

// Update makes one change: all that do writes, or, where it returns an error, nothing.
func (s *Store) Update(do func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Tx{counts: map[string]int{}}
	for key, n := range s.counts {
		t.counts[key] = n
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		t.tx = tx
		return do(t)
	})
	if err == nil {
		s.counts = t.counts
	}
	return err
}

// State returns the state of a matter; the zero State for one that is not known.
func (t *Tx) State(key string) matter.State {
	var out matter.State
	if text := t.tx.Bucket(statesBucket).Get([]byte(key)); text != nil && json.Unmarshal(text, &out) != nil {
		return matter.State{}
	}
	return out
}

// PutState stores the state of a matter.
func (t *Tx) PutState(key string, s matter.State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return t.tx.Bucket(statesBucket).Put([]byte(key), text)
}

// States returns the states of the matters whose keys begin with a prefix.
func (t *Tx) States(prefix string) map[string]matter.State {
	out := map[string]matter.State{}
	c := t.tx.Bucket(statesBucket).Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
		var s matter.State
		if json.Unmarshal(v, &s) == nil {
			out[string(k)] = s
		}
	}
	return out
}

// Forget removes the states on which nothing depends any more.
func (t *Tx) Forget(now time.Time) error {
	b := t.tx.Bucket(statesBucket)
	var gone [][]byte
	err := b.ForEach(func(k, v []byte) error {
		var s matter.State
		if json.Unmarshal(v, &s) != nil || s.Expired(now) {
			gone = append(gone, bytes.Clone(k))
		}
		return nil
	})
	for _, k := range gone {
		err = errors.Join(err, b.Delete(k))
	}
	return err
}

// Delete removes a state.
func (t *Tx) Delete(key string) error { return t.tx.Bucket(statesBucket).Delete([]byte(key)) }

// Item is a note in a queue.
type Item struct {
	ID uint64
	route.Note
}

// Push appends a note to the queue of a Provider.
func (t *Tx) Push(p route.Key, n route.Note) error {
	b, err := t.tx.Bucket(queuesBucket).CreateBucketIfNotExists([]byte(p.String()))
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	id, err := b.NextSequence()
	if err != nil {
		return err
	}
	waiting := t.count(p, b) + 1
	t.counts[p.String()] = waiting
	if err := b.Put(binary.BigEndian.AppendUint64(nil, id), text); err != nil || waiting <= Most+slack {
		return err
	}
	return t.trim(p, b)
}

// count is how many notes are in a queue. They are counted once in the life of the Store.
func (t *Tx) count(p route.Key, b *bbolt.Bucket) int {
	n, known := t.counts[p.String()]
	if !known {
		n = b.Stats().KeyN
	}
	return n
}

// Drop removes a note from the queue of a Provider, if it is there.
func (t *Tx) Drop(p route.Key, id uint64) error {
	if b := t.tx.Bucket(queuesBucket).Bucket([]byte(p.String())); b != nil {
		return t.pop(p, b, id)
	}
	return nil
}

// Discard removes notes that are never sent from the queue of a Provider: their Alerts have not said what the matters are that hold still.
func (t *Tx) Discard(p route.Key, items []Item) error {
	var err error
	for _, i := range items {
		err = errors.Join(err, t.unsay(i), t.Drop(p, i.ID))
	}
	return err
}

// unsay has the state of a matter forget that the Alert of a note has said it, if the note is the newest.
func (t *Tx) unsay(i Item) error {
	key, by := matter.KeyOf(i.Message), i.Alert.String()
	s := t.State(key)
	if _, heard := s.Heard[by]; !heard || i.Message.Matter.Phase != notify.Opens || s.Form != i.Message.Matter.Form {
		return nil
	}
	delete(s.Heard, by)
	return t.PutState(key, s)
}

// pop removes a note from a queue, if it is there.
func (t *Tx) pop(p route.Key, b *bbolt.Bucket, id uint64) error {
	key := binary.BigEndian.AppendUint64(nil, id)
	if b.Get(key) == nil {
		return nil
	}
	t.counts[p.String()] = t.count(p, b) - 1
	return b.Delete(key)
}

// trim brings a queue back to Most, and counts what it drops.
func (t *Tx) trim(p route.Key, b *bbolt.Bucket) error {
	items := itemsOf(b, 0)
	drop := surplus(items, len(items)-Most)
	for _, id := range drop {
		if err := b.Delete(binary.BigEndian.AppendUint64(nil, id)); err != nil {
			return err
		}
	}
	t.counts[p.String()] = len(items) - len(drop)
	d := t.tx.Bucket(droppedBucket)
	return d.Put([]byte(p.String()), binary.BigEndian.AppendUint64(nil, uint64(countAt(d, p)+len(drop))))
}

func countAt(b *bbolt.Bucket, p route.Key) int {
	if text := b.Get([]byte(p.String())); len(text) == 8 {
		return int(binary.BigEndian.Uint64(text))
	}
	return 0
}

func itemsOf(b *bbolt.Bucket, most int) []Item {
	var out []Item
	c := b.Cursor()
	for k, v := c.First(); k != nil && (most == 0 || len(out) < most); k, v = c.Next() {
		i := Item{ID: binary.BigEndian.Uint64(k)}
		if err := json.Unmarshal(v, &i.Note); err != nil {
			continue // of another version
		}
		out = append(out, i)
	}
	return out
}

// Pending returns the notes that wait for a Provider, the oldest first.
func (t *Tx) Pending(p route.Key) []Item {
	if b := t.tx.Bucket(queuesBucket).Bucket([]byte(p.String())); b != nil {
		return itemsOf(b, 0)
	}
	return nil
}

// Pending returns the notes that wait for a Provider, the oldest first, and how many were dropped since the last Done.
func (s *Store) Pending(p route.Key) (items []Item, dropped int, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		items = (&Tx{tx: tx}).Pending(p)
		dropped = countAt(tx.Bucket(droppedBucket), p)
		return nil
	})
	return items, dropped, err
}

// Done removes notes that were sent, or never will be; and forgets so many that were dropped, which were reported.
func (s *Store) Done(p route.Key, ids []uint64, reported int) error {
	return s.Update(func(t *Tx) error {
		for _, id := range ids {
			if err := t.Drop(p, id); err != nil {
				return err
			}
		}
		d := t.tx.Bucket(droppedBucket)
		return d.Put([]byte(p.String()), binary.BigEndian.AppendUint64(nil, uint64(max(0, countAt(d, p)-reported))))
	})
}

// Remove forgets the queue of a Provider that is gone.
func (s *Store) Remove(p route.Key) error {
	return s.Update(func(t *Tx) error {
		if t.tx.Bucket(queuesBucket).Bucket([]byte(p.String())) == nil {
			delete(t.counts, p.String())
			return nil
		}
		err := t.Discard(p, t.Pending(p))
		delete(t.counts, p.String())
		return errors.Join(err, t.tx.Bucket(queuesBucket).DeleteBucket([]byte(p.String())), t.tx.Bucket(droppedBucket).Delete([]byte(p.String())))
	})
}
