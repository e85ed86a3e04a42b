package watch

import (
	"encoding/hex"
	"iter"
	"strings"
	"unique"

	"github.com/truce-gitops/truce/internal/model/object"
)

// known are the objects of one kind that have been seen: no more of them than their names, uids and resourceVersions, of which there are many.
type known struct {
	group, kind string
	uids        map[place]sighting[uuid]
	others      map[place]sighting[string] // uids that are no UUIDs, which an aggregated API may give
}

// sighting is the state in which an object was last seen.
type sighting[U uuid | string] struct {
	uid     U
	version uint64 // its resourceVersion; 0 where that is no number
}

// place names an object among those of its kind.
type place struct{ namespace, name string }

// uuid is a uid as API servers make it (RFC 9562), in binary.
type uuid [16]byte

func newKnown(group, kind string) *known {
	return &known{group: group, kind: kind, uids: map[place]sighting[uuid]{}, others: map[place]sighting[string]{}}
}

func placeOf(id object.ID) place { return place{unique.Make(id.Namespace).Value(), id.Name} }

// get returns the uid and the resourceVersion of an object, and whether it has been seen.
func (k *known) get(id object.ID) (uid string, version uint64, ok bool) {
	p := place{id.Namespace, id.Name}
	if s, ok := k.uids[p]; ok {
		return s.uid.String(), s.version, true
	}
	s, ok := k.others[p]
	return s.uid, s.version, ok
}

func (k *known) put(id object.ID, uid string, version uint64) {
	k.drop(id)
	if u, ok := parseUUID(uid); ok {
		k.uids[placeOf(id)] = sighting[uuid]{u, version}
	} else {
		k.others[placeOf(id)] = sighting[string]{uid, version}
	}
}

func (k *known) drop(id object.ID) {
	p := place{id.Namespace, id.Name}
	delete(k.uids, p)
	delete(k.others, p)
}

// all gives every object with its uid, in no order. They may be dropped meanwhile.
func (k *known) all() iter.Seq2[object.ID, string] {
	return func(yield func(object.ID, string) bool) {
		for p, s := range k.uids {
			if !yield(k.id(p), s.uid.String()) {
				return
			}
		}
		for p, s := range k.others {
			if !yield(k.id(p), s.uid) {
				return
			}
		}
	}
}

func (k *known) id(p place) object.ID {
	return object.ID{Group: k.group, Kind: k.kind, Namespace: p.namespace, Name: p.name}
}

// String prints the uid as the server does.
func (u uuid) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// parseUUID reads what String prints, and nothing else.
func parseUUID(uid string) (u uuid, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(uid, "-", ""))
	if err != nil || len(b) != len(u) {
		return u, false
	}
	copy(u[:], b)
	return u, u.String() == uid
}
