package attribution

import (
	"errors"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Ring keeps the newest Records. What arrives is read on a query or when Drain is called, so that taking a review in costs
// nothing; what is more than fits is dropped. It may be used concurrently.
type Ring struct {
	Hasher  ownership.Hasher
	Objects Objects

	reading sync.Mutex // held while what has arrived is read, so that who asks gets all of it
	mu      sync.Mutex
	arrived []arrival
	bytes   int
	missed  int
	records []Record // a ring
	next    int
}

// Objects knows the cluster that records are about. It may be called concurrently, and does not block.
type Objects interface {
	// KindOf returns the kind of a resource, for reviews of the subresource scale, which name it only by its plural.
	KindOf(group, resource string) string
	// Manages reports whether records of the object are kept.
	Manages(id object.ID) bool
}

type arrival struct {
	at   time.Time
	body []byte
}

// The bounds of a Ring.
const (
	ringRecords  = 4096
	ringArrivals = 512
	ringBytes    = 16 << 20 // of reviews that wait to be read
	ringChanges  = 64       // of one record
)

// Add takes a review in, and reports whether it fitted. The body is the ring's from then on.
func (r *Ring) Add(body []byte, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.arrived) >= ringArrivals || r.bytes+len(body) > ringBytes {
		r.missed++
		return false
	}
	r.arrived = append(r.arrived, arrival{at, body})
	r.bytes += len(body)
	return true
}

// Missed returns how many reviews were dropped, or could not be read.
func (r *Ring) Missed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.missed
}

// Drain reads what has arrived.
func (r *Ring) Drain() {
	r.reading.Lock()
	defer r.reading.Unlock()
	for {
		r.mu.Lock()
		batch := r.arrived
		r.arrived, r.bytes = nil, 0
		r.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, a := range batch {
			r.read(a)
		}
	}
}

func (r *Ring) read(a arrival) {
	record, err := ReadReview(a.body, r.Hasher, r.Objects.KindOf)
	if errors.Is(err, ErrNoWrite) || err == nil && !r.Objects.Manages(record.Object) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.missed++
		return
	}
	record.At = a.at
	record.Changes = groupChanges(record.Changes)
	if len(r.records) < ringRecords {
		r.records = append(r.records, record)
		return
	}
	r.records[r.next] = record
	r.next = (r.next + 1) % ringRecords
}

// groupChanges stands for a write that changed more than is worth distinguishing: it touched the whole object.
func groupChanges(changes []Change) []Change {
	if len(changes) <= ringChanges {
		return changes
	}
	return []Change{{Path: root, Hidden: true}}
}

// Of returns the records of an object, the newest first.
func (r *Ring) Of(id object.ID) []Record {
	r.Drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Record
	for i := range r.records {
		if rec := r.records[(r.next+2*len(r.records)-1-i)%len(r.records)]; rec.Object == id {
			out = append(out, rec)
		}
	}
	return out
}
