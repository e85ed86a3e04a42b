package health

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// jobName is the label that the Job controller puts on the pods of a Job.
const jobName = "batch.kubernetes.io/job-name"

// PodSelector returns the label selector of a workload's pods, as Git or the server describes the workload: that of a pod template, and of a
// Job its name. It is empty for what has no pods of its own.
func PodSelector(o object.Object) string {
	var terms []string
	for _, r := range selectorOf(o) {
		terms = append(terms, r.String())
	}
	return strings.Join(terms, ",")
}

// PodsOfWorkload returns those of the objects that are pods of the workload.
func PodsOfWorkload(workload object.Object, all []object.Object) []object.Object {
	requirements := selectorOf(workload)
	if requirements == nil {
		return nil
	}
	var out []object.Object
	for _, o := range all {
		gvk := o.GVK()
		fails := func(r requirement) bool { return !r.matches(o) }
		if gvk.Group == "" && gvk.Kind == "Pod" && o.Namespace() == workload.Namespace() && !slices.ContainsFunc(requirements, fails) {
			out = append(out, o)
		}
	}
	return OwnedPods(workload.UID(), out)
}

// OwnedPods returns the pods that the workload of that uid made, itself or through a ReplicaSet. Others may bear the same labels.
func OwnedPods(uid string, pods []object.Object) []object.Object {
	var out []object.Object
	for _, pod := range pods {
		for _, owner := range objectsIn(pod.At("metadata", "ownerReferences")) {
			if owner["controller"] == true && (owner["uid"] == uid || owner["kind"] == "ReplicaSet") {
				out = append(out, pod)
			}
		}
	}
	return out
}

// requirement is one term of a label selector, as in the API's LabelSelectorRequirement.
type requirement struct {
	key, operator string
	values        []string
}

// String prints the term as the server reads it in a list's labelSelector.
func (r requirement) String() string {
	switch r.operator {
	case "In":
		return r.key + " in (" + strings.Join(r.values, ",") + ")"
	case "NotIn":
		return r.key + " notin (" + strings.Join(r.values, ",") + ")"
	case "Exists":
		return r.key
	default:
		return "!" + r.key
	}
}

func (r requirement) matches(o object.Object) bool {
	value, ok := o.Label(r.key)
	switch r.operator {
	case "In":
		return ok && slices.Contains(r.values, value)
	case "NotIn":
		return !ok || !slices.Contains(r.values, value)
	case "Exists":
		return ok
	default:
		return !ok
	}
}

// selectorOf is nil where there is none, where it selects everything, and where it is invalid.
func selectorOf(o object.Object) []requirement {
	if _, ok := o.At("spec", "template", "spec").(map[string]any); !ok {
		return nil
	}
	if gvk := o.GVK(); gvk.Group == "batch" && gvk.Kind == "Job" {
		return []requirement{{jobName, "In", []string{o.Name()}}}
	}
	var out []requirement
	equal, _ := o.At("spec", "selector", "matchLabels").(map[string]any)
	for key, v := range equal {
		value, ok := v.(string)
		if !ok {
			return nil
		}
		out = append(out, requirement{key, "In", []string{value}})
	}
	slices.SortFunc(out, func(a, b requirement) int { return strings.Compare(a.key, b.key) })
	for _, e := range objectsIn(o.At("spec", "selector", "matchExpressions")) {
		r := requirement{key: stringAt(e, "key"), operator: stringAt(e, "operator")}
		values, _ := e["values"].([]any)
		for _, v := range values {
			value, _ := v.(string)
			r.values = append(r.values, value)
		}
		if !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist"}, r.operator) || r.key == "" {
			return nil
		}
		out = append(out, r)
	}
	return out
}
