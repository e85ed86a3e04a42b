// Package kstatus answers: does this object work, by the rules of kstatus?
//
// In: a live object.
// Out: one of health's words, with a sentence for each but Healthy.
// Promise: pure; what cannot be judged is Unknown with its reason; what says itself that it failed is Degraded, also where kstatus calls it done.
// Not here: rules that users write (cel, lua).
package kstatus

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Assessor judges by kstatus, and by our own rules where they say more. A kind that has no status is Healthy as soon as it is there.
type Assessor struct{}

var _ health.Assessor = Assessor{}

// Assess judges one object.
func (Assessor) Assess(o object.Object) health.Status {
	if o.At("metadata", "deletionTimestamp") != nil {
		return health.Status{Code: health.Progressing, Message: "terminating" + finalizers(o)}
	}
	if s, ok := assessOwnRules(o); ok {
		return s
	}
	s := byKstatus(o)
	if s.Code != health.Degraded && suspended(o) {
		return health.Status{Code: health.Suspended, Message: "suspended by its spec"}
	}
	return s
}

// finalizers says who keeps an object that is to be deleted.
func finalizers(o object.Object) string {
	list, _ := o.At("metadata", "finalizers").([]any)
	var names []string
	for _, f := range list {
		if s, ok := f.(string); ok {
			names = append(names, s)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", waits for " + strings.Join(names, ", ")
}

// byKstatus asks kstatus. It panics over objects that no API server would hold, such as a container status without a name.
func byKstatus(o object.Object) (s health.Status) {
	defer func() {
		if cause := recover(); cause != nil {
			s = health.Status{Code: health.Unknown, Message: fmt.Sprintf("kstatus cannot read the object: %v", cause)}
		}
	}()
	r, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		return health.Status{Code: health.Unknown, Message: err.Error()}
	}
	switch r.Status {
	case status.CurrentStatus:
		return health.Status{Code: health.Healthy}
	case status.InProgressStatus, status.TerminatingStatus:
		return health.Status{Code: health.Progressing, Message: r.Message}
	case status.FailedStatus:
		return health.Status{Code: health.Degraded, Message: r.Message}
	default:
		return health.Status{Code: health.Unknown, Message: r.Message}
	}
}

// suspended reports whether the object stands still by its spec, and is not waited for.
func suspended(o object.Object) bool {
	gvk := o.GVK()
	switch gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment":
		return o.At("spec", "paused") == true
	case "batch/CronJob":
		return o.At("spec", "suspend") == true
	}
	return false
}
