// Package argocd answers: does this object work, by the rules of Argo CD?
//
// In: a live object.
// Out: one of health's words, with a sentence for each but Healthy.
// Promise: pure; the codes for built-in kinds are those of Argo CD 3.5; what cannot be read is Unknown, with the field.
// Not here: custom resources, which another Assessor judges; why pods do not work (health.PodTrouble); the health of a whole Application (dialect/argocd).
package argocd

import (
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Assessor judges built-in kinds as Argo CD does. A built-in kind for which Argo CD has no rule is Healthy as soon as it is there.
type Assessor struct {
	Custom health.Assessor // judges custom resources
}

var _ health.Assessor = Assessor{}

// ignoreKey is the annotation of an object whose health its Application does not count.
const ignoreKey = "argocd.argoproj.io/ignore-healthcheck"

// Assess judges one object.
func (a Assessor) Assess(o object.Object) health.Status {
	s := a.assess(o)
	if v, _ := o.Annotation(ignoreKey); v == "true" {
		s.Counts = health.Healthy
	}
	return s
}

func (a Assessor) assess(o object.Object) health.Status {
	if o.At("metadata", "deletionTimestamp") != nil {
		return progressing("Pending deletion")
	}
	gvk := o.GVK()
	if !object.IsBuiltIn(gvk.Group) {
		return a.Custom.Assess(o)
	}
	rule := ruleFor(gvk.Group, gvk.Kind)
	if rule == nil {
		return health.Status{Code: health.Healthy}
	}
	l := &live{Object: o}
	s := rule(l)
	if l.bad != "" {
		return health.Status{Code: health.Unknown, Message: l.bad}
	}
	return s
}

// ruleFor returns the rule for a kind, whatever its version; nil where Argo CD has none.
func ruleFor(group, kind string) func(*live) health.Status {
	switch group + "/" + kind {
	case "apps/Deployment":
		return deployment
	case "apps/ReplicaSet":
		return replicaSet
	case "apps/StatefulSet":
		return statefulSet
	case "apps/DaemonSet":
		return daemonSet
	case "batch/Job":
		return assessJob
	case "batch/CronJob":
		return cronJob
	case "/Pod":
		return assessPod
	case "/Service":
		return service
	case "networking.k8s.io/Ingress", "extensions/Ingress":
		return ingress
	case "/PersistentVolumeClaim":
		return volumeClaim
	case "autoscaling/HorizontalPodAutoscaler":
		return autoscaler
	case "policy/PodDisruptionBudget":
		return disruptionBudget
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return definition
	case "apiregistration.k8s.io/APIService":
		return apiService
	}
	return nil
}

func progressing(message string) health.Status {
	return health.Status{Code: health.Progressing, Message: message}
}

func degraded(message string) health.Status {
	return health.Status{Code: health.Degraded, Message: message}
}

func healthy() health.Status { return health.Status{Code: health.Healthy} }
