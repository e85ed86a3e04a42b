package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func autoscaledTwice() rule {
	return rule{Rule{
		ID: "autoscaled-twice", Severity: Error,
		Title: "two autoscalers have one target",
		Reason: "The HPA controller refuses to scale pods that two HPAs select: ScalingActive is False (AmbiguousSelector) for both, and the count " +
			"stays where it is, also under load; older Kubernetes let both write, and the count swung. KEDA makes an HPA for each ScaledObject, and refuses one whose " +
			"target has an HPA already. A VPA that changes the requests of a resource changes what an HPA measures on the same resource: each " +
			"step of one moves the other.",
		Remedy: "Leave one: put all metrics into one HPA, or all triggers into one ScaledObject. A ScaledObject takes over an HPA by the " +
			"annotation scaledobject.keda.sh/transfer-hpa-ownership and its name. Of a VPA beside an HPA on cpu or memory, take the resource out " +
			"of controlledResources, or set updateMode: \"Off\" and read its recommendations.",
		Source: "Kubernetes pkg/controller/podautoscaler/horizontal.go (AmbiguousSelector); KEDA's admission webhook; kubernetes/autoscaler " +
			"vertical-pod-autoscaler docs/known-limitations.md",
	}, func(j *checker) []Finding {
		by := map[lookupKey][]*scaler{}
		var order []lookupKey
		for _, s := range j.scaling().scalers {
			if !isHorizontalAutoscaler(s.object.ID) && !isScaledObject(s.object.ID) {
				continue
			}
			n := lookupName(s.Target)
			if by[n] == nil {
				order = append(order, n)
			}
			by[n] = append(by[n], s)
		}
		var out []Finding
		for _, n := range order {
			out = append(out, j.pairs(by[n])...)
		}
		return append(out, j.vertical(by)...)
	}}
}

// pairs finds those among the scalers of one target that meet.
func (j *checker) pairs(all []*scaler) []Finding {
	var out []Finding
	for i, second := range all {
		for _, first := range all[:i] {
			m := j.reach().meet(first.unit, second.unit)
			if m == "" || first.ID == second.ID || variable(second.Target) && first.unit != second.unit || takesOver(first, second) || takesOver(second, first) || !oneTarget(first, second) {
				continue
			}
			f := j.finding(second.described, field.NewPath("spec", "scaleTargetRef"))
			f.Others = []desired.Place{j.files.place(*first.unit, *first.object, field.NewPath("spec", "scaleTargetRef"))}
			f.Message = fmt.Sprintf("%s and %s both scale %s %s/%s: %s%s", shortName(second.id()), first.called(), second.Target.Kind,
				second.Target.Namespace, second.Target.Name, clashMessage(first, second), m.unless(first.unit, second.unit))
			f.Remedy = "leave one of them, with the metrics of both"
			if m == perhaps || second.unit.Dialect == discover.Bare && second.unit.Line == 0 {
				f.Severity = Warning // a directory may hold examples to choose from
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// clashMessage is what comes of two scalers of one target.
func clashMessage(a, b *scaler) string {
	if isHorizontalAutoscaler(a.object.ID) && isHorizontalAutoscaler(b.object.ID) {
		return "the HPA controller stops both (AmbiguousSelector), and the count stays as it is"
	}
	return "KEDA refuses the ScaledObject, or makes an HPA besides that works against it"
}

// oneTarget reports whether two scalers mean one object: of two variants each has its own.
func oneTarget(a, b *scaler) bool {
	if len(a.targets) == 0 || len(b.targets) == 0 {
		return a.unit == b.unit || len(a.targets) == len(b.targets)
	}
	return slices.ContainsFunc(a.targets, func(t target) bool {
		return slices.ContainsFunc(b.targets, func(u target) bool { return t.object == u.object })
	})
}

// takesOver reports whether a ScaledObject makes an HPA of Git its own.
func takesOver(keda, hpa *scaler) bool {
	mark, _ := keda.object.Data.Annotation("scaledobject.keda.sh/transfer-hpa-ownership")
	name := stringAt(keda.object.Data, "spec", "advanced", "horizontalPodAutoscalerConfig", "name")
	return isScaledObject(keda.object.ID) && isHorizontalAutoscaler(hpa.object.ID) && mark == "true" && name == hpa.object.ID.Name
}

// vertical finds VPAs beside HPAs on one resource.
func (j *checker) vertical(by map[lookupKey][]*scaler) []Finding {
	var out []Finding
	for d := range j.described() {
		if !isVerticalAutoscaler(d.object.ID) || stringAt(d.object.Data, "spec", "updatePolicy", "updateMode") == "Off" {
			continue
		}
		ref, _ := d.object.Data.At("spec", "targetRef").(map[string]any)
		target := object.Object(ref)
		for _, s := range by[lookupKey{stringAt(target, "kind"), d.id().Namespace, stringAt(target, "name")}] {
			m := j.reach().meet(s.unit, d.unit)
			i := slices.IndexFunc(utilizations(s.object.Data), func(m metric) bool { return controls(d.object.Data, m) })
			if m == "" || i < 0 {
				continue
			}
			metric := utilizations(s.object.Data)[i]
			f := j.finding(d, field.NewPath("spec", "targetRef"))
			f.Severity = Warning
			f.Others = []desired.Place{j.files.place(*s.unit, *s.object, metric.path)}
			f.Message = fmt.Sprintf("%s changes the requests of %s, and %s measures %s: each moves the other%s", shortName(d.id()), metric.resource, s.called(), metric,
				m.unless(s.unit, d.unit))
			f.Remedy = fmt.Sprintf("take %s out of the VPA's controlledResources, or set its updateMode to \"Off\"", metric.resource)
			out = append(out, f)
		}
	}
	return out
}

// controls reports whether a VPA changes the requests that a metric is measured against.
func controls(vpa object.Object, m metric) bool {
	policies := listItems(vpa.At("spec", "resourcePolicy", "containerPolicies"))
	if len(policies) == 0 {
		return true
	}
	named := slices.ContainsFunc(policies, func(p object.Object) bool { return stringAt(p, "containerName") == "*" })
	for _, p := range policies {
		name := stringAt(p, "containerName")
		if stringAt(p, "mode") == "Off" || m.container != "" && name != "*" && name != m.container {
			continue
		}
		list, given := p.At("controlledResources").([]any)
		if !given || slices.Contains(list, any(m.resource)) {
			return true
		}
	}
	return !named && m.container == "" // containers without a policy are controlled in all
}
