package configmap

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recordCache is what a list of all records has taught. What it says of a record holds until the record is written or the next list.
type recordCache struct {
	texts object.Packer

	// Guarded by Store.mu:
	listing chan struct{}         // closed when the list under way has ended; nil for none
	listed  time.Time             // zero for never
	renewed uint64                // how often StartOver was called
	doubts  map[app.Key]bool      // records that must be read by themselves
	broken  map[configMapKey]bool // ConfigMaps that hold no record that can be read
}

// configMapKey is where a ConfigMap is.
type configMapKey struct{ namespace, name string }

// cacheLifetime is how long a list of all records is trusted. We alone write them, so that it is only about people who damage one: a
// write over what they did is refused by its resourceVersion at any time, but a record that is not written again would stay lost.
const cacheLifetime = 10 * time.Minute

// loadCached gives a record without asking for it, and whether it is known.
func (s *Store) loadCached(ctx context.Context, key app.Key) (inventory.Record, bool, error) {
	if err := s.renew(ctx); apierrors.IsForbidden(err) { // with permissions for some namespaces only, records are read one by one
		return inventory.Record{}, false, nil
	} else if err != nil {
		return inventory.Record{}, false, err
	}
	s.mu.Lock()
	v, seen := s.seen[key]
	if !seen && !s.all.doubts[key] && !s.all.broken[configMapKey{key.Namespace, configMapName(key)}] {
		s.put(key, version{})
		seen = true
	}
	s.mu.Unlock()
	switch {
	case !seen:
		return inventory.Record{}, false, nil
	case v.resourceVersion == "":
		return inventory.Record{App: key}, true, nil
	}
	text, err := s.all.texts.Text(v.text)
	if err != nil {
		return inventory.Record{}, false, err
	}
	r, err := inventory.ParseRecord(text)
	return inventory.Unverified(r, v.unverified), err == nil, err
}

// renew lists all records if that was never done, or is long ago. Where a list is under way, it waits for that one.
func (s *Store) renew(ctx context.Context) error {
	for {
		s.mu.Lock()
		if !s.all.listed.IsZero() && s.now().Sub(s.all.listed) < cacheLifetime {
			s.mu.Unlock()
			return nil
		}
		other := s.all.listing
		if other == nil {
			s.all.listing = make(chan struct{})
			s.mu.Unlock()
			return s.relist(ctx)
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return fmt.Errorf("list inventories: %w", ctx.Err())
		}
	}
}

// relist lists all records. The caller has set listing.
func (s *Store) relist(ctx context.Context) error {
	defer s.endList()
	begin := s.now()
	s.mu.Lock()
	start, renewed := s.writes, s.all.renewed
	s.mu.Unlock()
	found, broken := map[app.Key]version{}, map[configMapKey]bool{}
	err := s.list(ctx, func(u *unstructured.Unstructured) error {
		r, text, err := readRecord(u)
		if at := (configMapKey{u.GetNamespace(), u.GetName()}); err != nil || at != (configMapKey{r.App.Namespace, configMapName(r.App)}) {
			broken[at] = true // Load of that very record says what is wrong with it
			return nil
		}
		found[r.App], err = s.verified(ctx, u, text)
		return err
	})
	if err != nil {
		return err
	}
	s.merge(found, start)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all.broken = broken; s.all.renewed == renewed {
		s.all.listed = begin
	}
	return nil
}

func (s *Store) endList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.all.listing)
	s.all.listing = nil
}

// merge takes in a list that began when seen had been changed start times. What has been seen since then is newer. Where the
// list says something else than what was seen before, another writer has changed it: a run that goes on must not write over that.
func (s *Store) merge(found map[app.Key]version, start uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range s.seen {
		if v.at <= start && v.resourceVersion != found[key].resourceVersion {
			s.doubt(key)
		}
	}
	for key, v := range found {
		if _, seen := s.seen[key]; !seen && !s.all.doubts[key] {
			s.put(key, v)
		}
	}
}

// StartOver makes the next Load list all records and read the key again: the server's data went back to an older state, which may be from
// before the key was made.
func (s *Store) StartOver() {
	if s.Key != nil {
		s.Key.doubt.Store(true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.renewed++
	s.all.listed = time.Time{}
}

func (s *Store) remember(key app.Key, v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, v)
}

// put keeps what is known of a record. The caller holds mu.
func (s *Store) put(key app.Key, v version) {
	if s.seen == nil {
		s.seen = map[app.Key]version{}
	}
	s.writes++
	v.at = s.writes
	s.seen[key] = v
	delete(s.all.doubts, key)
	delete(s.unansweredTexts, key)
}

// forget makes the next Load ask.
func (s *Store) forget(key app.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt(key)
}

// doubt is forget for a caller who holds mu.
func (s *Store) doubt(key app.Key) {
	if s.all.doubts == nil {
		s.all.doubts = map[app.Key]bool{}
	}
	delete(s.seen, key)
	delete(s.unansweredTexts, key)
	s.all.doubts[key] = true
}

func (s *Store) lastSeen(key app.Key) version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[key]
}

// versionOf is a record as it stands in the cluster.
func (s *Store) versionOf(resourceVersion string, text []byte) version {
	v := version{resourceVersion: resourceVersion, sum: sha256.Sum256(text)}
	if s.Reading == All {
		v.text = s.all.texts.Pack(object.GVK{Kind: "record"}, text)
	}
	return v
}

func (s *Store) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock.Now()
}
