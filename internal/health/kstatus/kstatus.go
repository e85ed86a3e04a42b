// Package kstatus answers: does this object work, by the rules of kstatus?
//
// In: a live object.
// Out: one of health's words, with kstatus' message.
// Promise: pure; what kstatus cannot judge is Unknown with its reason.
// Not here: rules that users write (cel, lua).
package kstatus

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Assessor judges by kstatus.
type Assessor struct{}

var _ health.Assessor = Assessor{}

var words = map[status.Status]health.Code{
	status.CurrentStatus: health.Healthy, status.InProgressStatus: health.Progressing, status.FailedStatus: health.Degraded,
	status.TerminatingStatus: health.Progressing, status.NotFoundStatus: health.Missing, status.UnknownStatus: health.Unknown,
}

// Assess judges one object. Deployments and CronJobs that stand still on purpose are Suspended, as in Argo CD.
func (Assessor) Assess(o object.Object) health.Status {
	if suspended(o) {
		return health.Status{Code: health.Suspended, Message: "stands still on purpose"}
	}
	r, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		return health.Status{Code: health.Unknown, Message: err.Error()}
	}
	code, ok := words[r.Status]
	if !ok {
		code = health.Unknown
	}
	if code == health.Healthy {
		return health.Status{Code: code}
	}
	return health.Status{Code: code, Message: r.Message}
}

func suspended(o object.Object) bool {
	switch o.GVK().Kind {
	case "Deployment":
		return o.At("spec", "paused") == true
	case "CronJob", "Job":
		return o.At("spec", "suspend") == true
	}
	return false
}
