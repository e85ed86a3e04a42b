// Package unchanged answers: can anything of an object have changed that an app describes?
//
// In: an object, or its metadata alone, as the API server shows it.
// Out: a Fingerprint for comparisons within one process, a State for those across processes.
// Promise: what is equal needs no comparison field by field; the status of a workload changes neither.
// Not here: what has changed (decide/compare), what follows from it (reconcile).
package unchanged

import (
	"math/bits"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Fingerprint is a hash of everything whose change can mean that something of ours has changed: what we own, the generation (or,
// where that is not set, the resourceVersion), labels and annotations. It is the same for a whole object, its metadata
// alone, and the server's answer to an apply.
func Fingerprint(h ownership.Hasher, o object.Object) uint64 {
	sum := mixHashes(h.Value(o.UID()), hashFields(h, ownedParts(o)))
	sum = mixHashes(sum, h.Value(o.At("metadata", "labels")))
	sum = mixHashes(sum, h.Value(o.At("metadata", "annotations")))
	if o.At("metadata", "deletionTimestamp") != nil {
		sum = mixHashes(sum, 1)
	}
	if o.Generation() > 0 && live.TrustsGeneration(o.GVK()) {
		return mixHashes(sum, h.Value(o.Generation()))
	}
	return mixHashes(sum, h.Value(o.ResourceVersion()))
}

// ownedParts returns the fieldsV1 of our own apply entry, nil if there is none.
func ownedParts(o object.Object) map[string]any {
	list, _ := o.At("metadata", "managedFields").([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if m["manager"] == ownership.Manager && m["operation"] == "Apply" && m["subresource"] == nil {
			f, _ := m["fieldsV1"].(map[string]any)
			return f
		}
	}
	return nil
}

// hashFields hashes fieldsV1. The keys of a map are added up, so that they need no order: sorting them took half of the time.
func hashFields(h ownership.Hasher, m map[string]any) uint64 {
	sum := uint64(len(m))
	for k, v := range m {
		below, _ := v.(map[string]any)
		sum += mixHashes(h.Value(k), hashFields(h, below))
	}
	return sum
}

// mixHashes joins two hashes into one, in their order: the finalizer of SplitMix64 over both.
func mixHashes(a, b uint64) uint64 {
	z := a ^ bits.RotateLeft64(b, 31) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
