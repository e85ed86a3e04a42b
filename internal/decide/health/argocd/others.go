package argocd

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/truce-gitops/truce/internal/model/health"
)

// service: one of type LoadBalancer is Progressing until it has an address.
func service(l *live) health.Status {
	if l.text("spec", "type") == "LoadBalancer" && len(l.list("status", "loadBalancer", "ingress")) == 0 {
		return progressing("Waiting for the address of the load balancer")
	}
	return healthy()
}

// ingress: Progressing until it has an address.
func ingress(l *live) health.Status {
	if len(l.list("status", "loadBalancer", "ingress")) == 0 {
		return progressing("Waiting for an address from the ingress controller")
	}
	return healthy()
}

// volumeClaim: by its phase.
func volumeClaim(l *live) health.Status {
	switch phase := l.text("status", "phase"); phase {
	case "Bound":
		return healthy()
	case "Pending":
		return progressing("Waiting for a volume")
	case "Lost":
		return degraded("The volume is lost")
	default:
		return health.Status{Code: health.Unknown, Message: "The claim has no phase"}
	}
}

// failures are the reasons for which an autoscaler is Degraded, by the type of the condition.
var failures = map[string][]string{
	"AbleToScale": {"FailedGetScale", "FailedUpdateScale"},
	"ScalingActive": {
		"FailedGetResourceMetric", "FailedGetObjectMetric", "FailedGetPodsMetric", "FailedGetExternalMetric",
		"FailedComputeMetricsReplicas", "InvalidSelector",
	},
}

// autoscaler: Degraded when any condition has one of the reasons in failures; else Healthy when it is able to scale or limited; else
// Progressing.
func autoscaler(l *live) health.Status {
	all := autoscalerConditions(l)
	for _, kind := range []string{"AbleToScale", "ScalingActive"} {
		if c := all[kind]; slices.Contains(failures[kind], c.reason) {
			return degraded(cmp.Or(c.message, c.reason))
		}
	}
	if all["AbleToScale"].status == "True" || all["ScalingLimited"].status == "True" {
		return healthy()
	}
	return progressing(cmp.Or(all["AbleToScale"].message, "Waiting to autoscale"))
}

// autoscalerConditions: autoscaling/v1 has them as JSON in an annotation.
func autoscalerConditions(l *live) map[string]condition {
	if l.GVK().Version != "v1" {
		return l.conditions()
	}
	note, ok := l.Annotation("autoscaling.alpha.kubernetes.io/conditions")
	if !ok {
		return nil
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(note), &list); err != nil {
		l.wrong([]string{"annotation autoscaling.alpha.kubernetes.io/conditions"}, "a list of conditions")
		return nil
	}
	out := map[string]condition{}
	for _, c := range list {
		out[stringAt(c, "type")] = conditionOf(c)
	}
	return out
}

// disruptionBudget: Progressing without a condition; Degraded when one is False for another reason than too few pods, which is what a budget
// is for.
func disruptionBudget(l *live) health.Status {
	all := l.list("status", "conditions")
	if len(all) == 0 {
		return progressing("Waiting for the disruption controller")
	}
	for _, item := range all {
		if c := conditionOf(item); c.status == "False" && c.reason != "InsufficientPods" {
			return degraded(cmp.Or(c.String(), stringAt(item, "type")+" is False"))
		}
	}
	return healthy()
}

// definition: Degraded when its names are taken, its schema is not structural, or it is not established for another reason than that it is
// being installed; Progressing while it is installed or removed.
func definition(l *live) health.Status {
	all := l.conditions()
	established := all["Established"]
	switch {
	case len(all) == 0:
		return progressing("Waiting for the API server to look at the definition")
	case all["Terminating"].status == "True":
		return progressing(joinMessage("CRD is terminating", all["Terminating"].message))
	case all["NamesAccepted"].status == "False":
		return degraded(joinMessage("CRD names are not accepted", all["NamesAccepted"].message))
	case all["NonStructuralSchema"].status == "True":
		return degraded(joinMessage("CRD schema has violations", all["NonStructuralSchema"].message))
	case established.status == "True":
		return healthy()
	case established.reason == "Installing":
		return progressing("CRD is being installed")
	}
	return degraded(joinMessage("CRD is not established", established.message))
}

// apiService: Progressing until it is available.
func apiService(l *live) health.Status {
	c, ok := l.conditions()["Available"]
	switch {
	case !ok:
		return progressing("Waiting to be processed")
	case c.status != "True":
		return progressing(cmp.Or(c.String(), "Not available"))
	}
	return healthy()
}

func joinMessage(subject, message string) string {
	if message == "" {
		return subject
	}
	return subject + ": " + message
}
