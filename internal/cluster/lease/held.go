package lease

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Resource is the resource of Leases; every server has them.
var Resource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// IsLeaseHeld reports whether a Lease has a holder that has renewed it in time.
func IsLeaseHeld(lease object.Object, now time.Time) bool {
	renewal, _ := lease.At("spec", "renewTime").(string)
	holder, _ := lease.At("spec", "holderIdentity").(string)
	at, err := time.Parse(time.RFC3339Nano, renewal)
	seconds, _ := lease.At("spec", "leaseDurationSeconds").(int64)
	return err == nil && holder != "" && now.Before(at.Add(time.Duration(seconds)*time.Second))
}
