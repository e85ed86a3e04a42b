package rules

import (
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func aggregatedRoleRules() rule {
	return rule{Rule: Rule{
		ID: "aggregated-role-rules", Severity: Error, Fixable: true,
		Title: "an aggregated ClusterRole names rules of its own",
		Reason: "The rules of a ClusterRole with an aggregationRule are collected from other roles by a controller of Kubernetes, which applies them by " +
			"force. The list is one atomic field: what Git says of it, an empty list too, is a conflict at each apply, or takes the rights away " +
			"until the controller puts them back.",
		Remedy: "Leave out rules; put what stood there into a ClusterRole of its own that has the labels which the aggregationRule selects.",
		Source: "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles; " +
			"measured on kube-apiserver 1.37: a conflict with clusterrole-aggregation-controller over .rules",
	}, check: (*checker).aggregatedRoleRules}
}

func (j *checker) aggregatedRoleRules() []Finding {
	var out []Finding
	for u, o := range j.objects() {
		if !isAggregated(o) {
			continue
		}
		if f, ok := j.ruled(u, o); ok {
			f.Unit, f.Object, f.Path = u.Name(), o.ID, field.NewPath("rules")
			out = append(out, f)
		}
	}
	return out
}

func isAggregated(o desired.Object) bool {
	return o.GVK.Group == "rbac.authorization.k8s.io" && o.GVK.Kind == "ClusterRole" && object.Object(o.Data).At("aggregationRule") != nil
}

// ruled finds rules in what is rendered, or, since an empty list is not kept there, in the document.
func (j *checker) ruled(u discover.Unit, o desired.Object) (Finding, bool) {
	if list, _ := o.Data.At("rules").([]any); len(list) > 0 {
		return Finding{
			Place:   j.files.place(u, o, field.NewPath("rules")),
			Message: "ClusterRole " + o.ID.Name + " has an aggregationRule and rules: its rules are collected from other roles, which undoes these",
			Remedy:  "move the rules into a ClusterRole that the aggregationRule selects",
		}, true
	}
	doc := j.files.document(o)
	if doc == nil || render.FieldNode(doc, "rules") == nil {
		return Finding{}, false
	}
	return Finding{
		Place:   j.files.atKey(nodePlace(o.File, render.FieldNode(doc, "rules"))),
		Message: "ClusterRole " + o.ID.Name + " has an aggregationRule and empty rules: sent as they are they are a conflict at each apply",
		Remedy:  "leave out rules",
	}, true
}
