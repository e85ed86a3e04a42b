package unchanged

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// State identifies, across processes, the state of an object of one uid: while it is the same, nothing has changed that an app can have
// described. It is a resourceVersion or a hash, which are never equal; the zero State is of a kind of which only a comparison shows that.
type State [sha256.Size / 2]byte

const (
	sumBit     = 0x80 // of the first byte of a hash
	sumMark    = "s"  // begins the text of a hash: a resourceVersion is a number
	versionEnd = len(State{}) - 8
)

// StateOf returns the state of an object. Of kinds whose metadata.generation counts the changes of their spec it is a hash of that and of the
// metadata that an app can describe, so that a new status leaves it alone; of kinds that have no status, or one that hardly changes, the resourceVersion.
func StateOf(o object.Object) State {
	gvk := o.GVK()
	switch {
	case live.DepthOf(gvk) == live.Metadata || isSteady(gvk):
		return versionState(o.ResourceVersion())
	case live.TrustsGeneration(gvk) && o.Generation() > 0:
		return hashedState(o)
	}
	return State{}
}

func versionState(resourceVersion string) (s State) {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err == nil { // else it can be compared with none
		binary.BigEndian.PutUint64(s[versionEnd:], n)
	}
	return s
}

// hashedState hashes what Fingerprint hashes, without a key that ends with the process: half of a SHA-256, for which no other state can be found.
func hashedState(o object.Object) (s State) {
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
func (s State) IsZero() bool { return s == State{} }

// String prints the state for ParseState; empty where it is unknown.
func (s State) String() string {
	switch {
	case s.IsZero():
		return ""
	case s[0]&sumBit != 0:
		return sumMark + base64.RawURLEncoding.EncodeToString(s[:])
	}
	return strconv.FormatUint(binary.BigEndian.Uint64(s[versionEnd:]), 10)
}

// ParseState reads what String prints. Everything else is unknown.
func ParseState(text string) (s State) {
	sum, ok := strings.CutPrefix(text, sumMark)
	if !ok {
		return versionState(text)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if err == nil && len(b) == len(s) && b[0]&sumBit != 0 {
		copy(s[:], b)
	}
	return s
}

// steady are built-in kinds whose status matters and hardly ever changes, so that their resourceVersion stays for as long as their spec does.
var steady = map[object.GVK]bool{
	{Kind: "Service"}: true, {Kind: "Namespace"}: true, {Kind: "PersistentVolumeClaim"}: true,
}

func isSteady(gvk object.GVK) bool {
	gvk.Version = ""
	return steady[gvk]
}
