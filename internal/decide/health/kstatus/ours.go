package kstatus

import (
	"cmp"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// assessOwnRules are the rules that kstatus lacks, or has otherwise. ok is false where they have nothing to say.
func assessOwnRules(o object.Object) (s health.Status, ok bool) {
	gvk := o.GVK()
	switch gvk.Group + "/" + gvk.Kind {
	case "/Pod":
		return assessPod(o)
	case "batch/Job":
		return assessJob(o)
	case "apiregistration.k8s.io/APIService":
		return apiService(o)
	}
	return health.Status{}, false
}

// pod: kstatus calls a failed Pod done, sees a crash loop only in a Pod whose init containers are through, and asks the clock
// before it calls one unschedulable.
func assessPod(o object.Object) (health.Status, bool) {
	cause := health.PodTrouble([]object.Object{o})
	switch {
	case o.At("status", "phase") == "Failed":
		return health.Status{Code: health.Degraded, Message: cmp.Or(cause, "failed"), Cause: cause}, true
	case crashes(o) && health.Condition(o, "Ready")["status"] != "True":
		return health.Status{Code: health.Degraded, Message: cmp.Or(cause, "in a crash loop"), Cause: cause}, true
	case o.At("status", "phase") == "Pending" && health.Condition(o, "PodScheduled")["reason"] == "Unschedulable":
		return health.Status{Code: health.Progressing, Message: cmp.Or(cause, "cannot be scheduled"), Cause: cause}, true
	}
	return health.Status{}, false
}

// crashes reports whether the kubelet restarts a container ever more slowly because it ends.
func crashes(o object.Object) bool {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _ := o.At("status", field).([]any)
		for _, item := range list {
			c, _ := item.(map[string]any)
			if object.Object(c).At("state", "waiting", "reason") == "CrashLoopBackOff" {
				return true
			}
		}
	}
	return false
}

// assessJob: kstatus calls a Job done as soon as it runs. Flux and Helm wait until it has completed (fluxcd/pkg/runtime/statusreaders, seen with
// kustomize-controller v1.9.4): what depends on a migration must not begin before its end,
// also where a queue such as Kueue's, or Git, has suspended it.
func assessJob(o object.Object) (health.Status, bool) {
	for _, kind := range []string{"Complete", "Failed"} {
		if health.Condition(o, kind)["status"] == "True" {
			return health.Status{}, false
		}
	}
	if o.At("spec", "suspend") == true {
		return health.Status{Code: health.Progressing, Message: "suspended; waiting for the Job to complete"}, true
	}
	return health.Status{Code: health.Progressing, Message: "waiting for the Job to complete"}, true
}

// apiService: kstatus knows no condition called Available. While it is not, the API that its users need is not there.
func apiService(o object.Object) (health.Status, bool) {
	c := health.Condition(o, "Available")
	if c["status"] == "True" {
		return health.Status{Code: health.Healthy}, true
	}
	if c == nil {
		return health.Status{Code: health.Progressing, Message: "not yet looked at"}, true
	}
	return health.Status{Code: health.Progressing, Message: fmt.Sprintf("not available: %v", c["message"])}, true
}
