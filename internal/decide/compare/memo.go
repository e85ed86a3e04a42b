package compare

import (
	"sync"
	"unique"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// memoSize bounds the shapes that a Memo keeps, of some kilobytes each. Objects of one template share one.
const memoSize = 256

// Memo remembers what the fields of some baselines are when they are read, so that the fields of an object which are still those of
// its baseline are not read again: that is most of what a comparison costs. It may be used concurrently. The zero Memo is empty.
type Memo struct {
	mu     sync.Mutex
	shapes map[unique.Handle[string]]ownership.Shape
}

// Owners reads the managedFields of a live object (see ownership.Entries), whose baseline is b.
func (m *Memo) Owners(live object.Object, b Baseline) ([]ownership.Entry, error) {
	if !b.known {
		return ownership.Entries(live)
	}
	known, ok := m.get(b)
	owners, err := known.Entries(live)
	if err != nil || ok {
		return owners, err
	}
	for i := range owners {
		if o := &owners[i]; o.IsApply(ownership.Manager) {
			if o.Fields, ok = o.Fields.As(b.fields.Value()); ok {
				m.keep(b, o.Fields)
			}
		}
	}
	return owners, nil
}

func (m *Memo) get(b Baseline) (ownership.Shape, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.shapes[b.fields]
	return s, ok
}

func (m *Memo) keep(b Baseline, s ownership.Shape) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shapes == nil || len(m.shapes) >= memoSize {
		m.shapes = make(map[unique.Handle[string]]ownership.Shape)
	}
	m.shapes[b.fields] = s
}
