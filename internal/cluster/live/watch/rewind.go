package watch

import (
	"context"
	"strconv"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// state says what is known of a watch's position.
type state string

const (
	unconfirmed state = ""            // the server may not hold it any more
	justListed  state = "just listed" // the next watch may begin there
)

// enter makes an era the store's, and reports whether it is another one than before.
func (s *store) enter(era int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.era == era {
		return false
	}
	s.returned = s.era != noEra
	s.era, s.position, s.fresh, s.complete = era, 0, unconfirmed, 0
	return true
}

// noEra is before the first one.
const noEra = -1

// reach takes note of the resourceVersion that the next request starts from. It fails when the era has ended.
func (l listing) reach(resourceVersion string) error {
	s := l.store
	s.mu.Lock()
	s.position = max(s.position, parseVersion(resourceVersion))
	era := s.era
	s.mu.Unlock()
	return l.history.Err(era)
}

// consistent makes the first list of a later era one that no cache answers which is behind.
func (s *store) consistent(o metav1.ListOptions) metav1.ListOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned && o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
	return o
}

// confirm makes sure, before a watch goes on where another one has ended, that the server has come as far. A server whose data went back
// would send nothing until its resourceVersion has grown past that of the watch, and no error either. One that is only behind another server of
// the same cluster is not taken for that: a list without a resourceVersion is answered by the newest data of etcd.
func (l listing) confirm(ctx context.Context, res cluster.Resource) error {
	s := l.store
	s.mu.Lock()
	known := s.position == 0 || s.fresh == justListed
	s.fresh = unconfirmed
	s.mu.Unlock()
	if known {
		return nil
	}
	one := l.narrowed(metav1.ListOptions{Limit: 1})
	one.LabelSelector = "" // any object will do: for one with a label a server without a cache reads them all
	list, err := l.cluster.Metadata().Resource(res.GVR).Namespace(l.interest.Namespace).List(ctx, one)
	if err != nil {
		return err
	}
	return l.judge(list, unconfirmed)
}

// judge ends the era when a list is older than the watch's position. Such a list answers either a request for data that is at least as new,
// or one for the newest data there is.
func (l listing) judge(list runtime.Object, fresh state) error {
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	s, now := l.store, parseVersion(m.GetResourceVersion())
	s.mu.Lock()
	era, back := s.era, now != 0 && now < s.position
	s.fresh = fresh
	s.mu.Unlock()
	if !back {
		return nil
	}
	l.history.WentBack(era)
	return l.history.Err(era)
}

// notOlder ends the era when a list shows an object as it was before it was last seen, or one that had been deleted. That alone shows a restore which
// moves etcd's revision on (`etcdutl snapshot restore --bump-revision`): the list itself is newer than any before.
func (s *store) notOlder(o object.Object) error {
	if s.complete == 0 {
		return nil
	}
	id := o.ID()
	_, least, seen := s.known.get(id)
	if !seen {
		least = s.complete + 1
	}
	if version := parseVersion(o.ResourceVersion()); version == 0 || version >= least {
		return nil
	}
	return s.attempt.verify(id, least)
}

// verify ends the era when an object has an older resourceVersion than the least it can have. A list may come from a cache that is behind; one without a
// resourceVersion is answered by the newest data of etcd, and needs no more rights than the watch.
func (l listing) verify(ctx context.Context, id object.ID, least uint64) error {
	res, err := l.cluster.Resource(l.interest.GVK)
	if err != nil {
		return err
	}
	one := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", id.Name).String()}
	list, err := l.cluster.Metadata().Resource(res.GVR).Namespace(id.Namespace).List(ctx, one)
	if err != nil {
		return err
	}
	for _, o := range list.Items { // none where the object has gone: the end of the list that is being read, or the next event, says so
		if now := parseVersion(o.ResourceVersion); o.Name == id.Name && now != 0 && now < least {
			l.history.WentBack(l.store.era)
			return l.history.Err(l.store.era)
		}
	}
	return nil
}

// parseVersion reads a resourceVersion as the number that it is (KEP-5504); 0 where it is none, and where any will do.
func parseVersion(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
