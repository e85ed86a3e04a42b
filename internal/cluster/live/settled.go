package live

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Settled identifies, across processes, the state of an object of one uid: while it is the same, nothing has changed that an app can have
// described. It is a resourceVersion or a hash, which are never equal; the zero Settled is of a kind of which only a comparison shows that.
type Settled [sha256.Size / 2]byte

const (
	sumBit     = 0x80 // of the first byte of a hash
	sumMark    = "s"  // begins the text of a hash: a resourceVersion is a number
	versionEnd = len(Settled{}) - 8
)

// SettledAt returns the state of an object. Of kinds whose metadata.generation counts the changes of their spec it is a hash of that and of the
// metadata that an app can describe, so that a new status leaves it alone; of kinds that have no status, or one that hardly changes, the resourceVersion.
func SettledAt(o object.Object) Settled {
	gvk := o.GVK()
	switch {
	case DepthOf(gvk) == Metadata || isSteady(gvk):
		return settledVersion(o.ResourceVersion())
	case TrustsGeneration(gvk) && o.Generation() > 0:
		return settledSum(o)
	}
	return Settled{}
}

func settledVersion(resourceVersion string) (s Settled) {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err == nil { // else it can be compared with none
		binary.BigEndian.PutUint64(s[versionEnd:], n)
	}
	return s
}

// settledSum hashes what Fingerprint hashes, without a key that ends with the process: half of a SHA-256, for which no other state can be found.
func settledSum(o object.Object) (s Settled) {
	text, err := json.Marshal([]any{
		o.UID(), o.Generation(), ownedParts(o), o.At("metadata", "labels"), o.At("metadata", "annotations"), o.At("metadata", "deletionTimestamp"),
	})
	if err == nil { // it came as JSON
		sum := sha256.Sum256(text)
		copy(s[:], sum[:])
		s[0] |= sumBit
	}
	return s
}

// IsZero reports whether the state is unknown.
func (s Settled) IsZero() bool { return s == Settled{} }

// String prints the state for ParseSettled; empty where it is unknown.
func (s Settled) String() string {
	switch {
	case s.IsZero():
		return ""
	case s[0]&sumBit != 0:
		return sumMark + base64.RawURLEncoding.EncodeToString(s[:])
	}
	return strconv.FormatUint(binary.BigEndian.Uint64(s[versionEnd:]), 10)
}

// ParseSettled reads what String prints. Everything else is unknown.
func ParseSettled(text string) (s Settled) {
	sum, ok := strings.CutPrefix(text, sumMark)
	if !ok {
		return settledVersion(text)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if err == nil && len(b) == len(s) && b[0]&sumBit != 0 {
		copy(s[:], b)
	}
	return s
}
