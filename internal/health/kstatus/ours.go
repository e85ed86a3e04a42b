package kstatus

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/object"
)

// ours are the rules that kstatus lacks, or has otherwise. ok is false where they have nothing to say.
func ours(o object.Object) (s health.Status, ok bool) {
	gvk := o.GVK()
	switch gvk.Group + "/" + gvk.Kind {
	case "/Pod":
		return pod(o)
	case "apiregistration.k8s.io/APIService":
		return apiService(o)
	}
	return health.Status{}, false
}

// pod: kstatus calls a failed Pod done, sees a crash loop only in a Pod whose init containers are through, and asks the clock
// before it calls one unschedulable.
func pod(o object.Object) (health.Status, bool) {
	if o.At("status", "phase") == "Failed" {
		return health.Status{Code: health.Degraded, Message: "failed" + because(o)}, true
	}
	if names := crashing(o); len(names) > 0 && condition(o, "Ready")["status"] != "True" {
		return health.Status{Code: health.Degraded, Message: "in a crash loop: " + strings.Join(names, ", ")}, true
	}
	if c := condition(o, "PodScheduled"); o.At("status", "phase") == "Pending" && c["reason"] == "Unschedulable" {
		return health.Status{Code: health.Progressing, Message: fmt.Sprintf("cannot be scheduled: %v", c["message"])}, true
	}
	return health.Status{}, false
}

func because(o object.Object) string {
	if why, ok := o.At("status", "message").(string); ok {
		return ": " + why
	}
	if why, ok := o.At("status", "reason").(string); ok {
		return ": " + why
	}
	return ""
}

// crashing names the containers that the kubelet starts ever more slowly because they end.
func crashing(o object.Object) []string {
	var names []string
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _ := o.At("status", field).([]any)
		for _, item := range list {
			c, _ := item.(map[string]any)
			if name, ok := c["name"].(string); ok && object.Object(c).At("state", "waiting", "reason") == "CrashLoopBackOff" {
				names = append(names, name)
			}
		}
	}
	return names
}

// apiService: kstatus knows no condition called Available. While it is not, the API that its users need is not there.
func apiService(o object.Object) (health.Status, bool) {
	c := condition(o, "Available")
	if c["status"] == "True" {
		return health.Status{Code: health.Healthy}, true
	}
	if c == nil {
		return health.Status{Code: health.Progressing, Message: "not yet looked at"}, true
	}
	return health.Status{Code: health.Progressing, Message: fmt.Sprintf("not available: %v", c["message"])}, true
}

// condition returns the status condition of that type, nil if there is none.
func condition(o object.Object, kind string) map[string]any {
	list, _ := o.At("status", "conditions").([]any)
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == kind {
			return c
		}
	}
	return nil
}
