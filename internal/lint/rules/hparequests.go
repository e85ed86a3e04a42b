package rules

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

func hpaNoRequests() rule {
	return rule{Rule{
		ID: "hpa-no-requests", Severity: Warning,
		Title: "an autoscaler measures against requests that a container does not make",
		Reason: "A target of type Utilization is a share of what the pods request. One container without a request of that resource, a native " +
			"sidecar included, and the HPA controller computes nothing for the whole workload: ScalingActive is False (FailedGetResourceMetric), " +
			"and the count stays where it is, also under load.",
		Remedy: "Give each container of the workload a request of the resource, a limit (from which the request is taken), or the pod as a " +
			"whole spec.resources.requests; or measure one container alone, with a metric of type ContainerResource; or use AverageValue.",
		Source: "Kubernetes pkg/controller/podautoscaler/replica_calculator.go (calculateRequests); KEP-2837",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, s := range j.scaling().scalers {
			for _, m := range utilizations(s.object.Data) {
				for _, t := range s.targets {
					out = append(out, j.unrequested(s, m, t)...)
				}
			}
		}
		return out
	}}
}

// container is one that counts for an autoscaler.
type container struct {
	object.Object
	path field.Path
}

func (c container) name() string { return stringAt(c.Object, "name") }

// requests reports whether the container makes a request of the resource, or has a limit, of which the API server makes one.
func (c container) requests(resource string) bool {
	return c.At("resources", "requests", resource) != nil || c.At("resources", "limits", resource) != nil
}

// containers are those of the pods that the object makes: the ordinary ones and native sidecars.
func containers(o object.Object) []container {
	var out []container
	for _, key := range []string{"containers", "initContainers"} {
		list := field.NewPath("spec", "template", "spec", key)
		for _, c := range listItems(o.At("spec", "template", "spec", key)) {
			if key == "containers" || stringAt(c, "restartPolicy") == "Always" {
				out = append(out, container{c, append(list.Copy(), field.KeyElement(c, []string{"name"}))})
			}
		}
	}
	return out
}

// unrequested finds the containers of the target that the metric stumbles over.
func (j *checker) unrequested(s *scaler, m metric, t target) []Finding {
	all := containers(t.object.Data)
	whole := m.container == "" && t.object.Data.At("spec", "template", "spec", "resources", "requests") != nil
	if len(all) == 0 || whole || j.limited(t.described, m.resource) {
		return nil
	}
	var out []Finding
	there := false
	for _, c := range all {
		if m.container != "" && c.name() != m.container {
			continue
		}
		there = true
		if c.requests(m.resource) {
			continue
		}
		f := j.finding(t.described, c.path)
		f.Others = append(f.Others, j.files.place(*s.unit, *s.object, m.path))
		f.Message = fmt.Sprintf("%s wants %s, and container %s of %s requests none%s", s.called(), m, c.name(), t.id(), t.meeting.unless(s.unit, t.unit))
		f.Remedy = fmt.Sprintf("write resources: {requests: {%s: …}} in container %s, unless a webhook or a LimitRange of the cluster does", m.resource, c.name())
		out = append(out, f)
	}
	if !there {
		f := j.finding(s.described, m.path)
		f.Message = fmt.Sprintf("%s measures container %s, and %s (%s) has none of that name", shortName(s.id()), m.container, t.id(), t.at())
		f.Remedy = "name one of its containers: " + all[0].name()
		out = append(out, f)
	}
	return out
}

// limited reports whether a LimitRange of the namespace gives containers a request.
func (j *checker) limited(d described, resource string) bool {
	for _, l := range j.limitRanges()[d.id().Namespace] {
		if j.reach().meet(l.unit, d.unit) == "" {
			continue
		}
		for _, limit := range listItems(l.object.Data.At("spec", "limits")) {
			if stringAt(limit, "type") == "Container" && (limit.At("defaultRequest", resource) != nil || limit.At("default", resource) != nil) {
				return true
			}
		}
	}
	return false
}

// limitRanges are those that are described, by namespace.
func (j *checker) limitRanges() map[string][]described {
	if j.ranges == nil {
		j.ranges = map[string][]described{}
		for d := range j.described() {
			if id := d.id(); id.Group == "" && id.Kind == "LimitRange" {
				j.ranges[id.Namespace] = append(j.ranges[id.Namespace], d)
			}
		}
	}
	return j.ranges
}
