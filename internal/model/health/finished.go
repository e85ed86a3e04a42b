package health

import (
	"math"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Expiry returns when the cluster deletes an object because it has done its work; zero for one that has not, or that stays. It is about Jobs
// with spec.ttlSecondsAfterFinished that have completed (KEP-592). One that has failed is deleted, too, and has not done its work.
func Expiry(o object.Object) time.Time {
	if gvk := o.GVK(); gvk.Group != "batch" || gvk.Kind != "Job" {
		return time.Time{}
	}
	after, asked := o.At("spec", "ttlSecondsAfterFinished").(int64)
	done := Condition(o, "Complete")
	if !asked || after < 0 || after > math.MaxInt32 || done["status"] != "True" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, stringAt(done, "lastTransitionTime"))
	if err != nil {
		return time.Time{}
	}
	return at.Add(time.Duration(after) * time.Second)
}
