package rules

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// isHorizontalAutoscaler and the others recognise kinds of autoscalers, at any version.
func isHorizontalAutoscaler(id object.ID) bool {
	return id.Group == "autoscaling" && id.Kind == "HorizontalPodAutoscaler"
}

func isScaledObject(id object.ID) bool { return id.Group == "keda.sh" && id.Kind == "ScaledObject" }

func isVerticalAutoscaler(id object.ID) bool {
	return id.Group == "autoscaling.k8s.io" && id.Kind == "VerticalPodAutoscaler"
}

// shortName is an object as people call it: HPA shop/web.
func shortName(id object.ID) string {
	kind := id.Kind
	if isHorizontalAutoscaler(id) {
		kind = "HPA"
	}
	return kind + " " + id.Namespace + "/" + id.Name
}

// called is an object with its place: HPA shop/web (hpa.yaml:1).
func (d described) called() string { return shortName(d.id()) + " (" + d.at() + ")" }

// finding is one about a field of the object.
func (j *checker) finding(d described, p field.Path) Finding {
	return Finding{Unit: d.unit.Name(), Object: d.id(), Path: p, Place: j.files.place(*d.unit, *d.object, p)}
}

// whole is where the object begins.
func (j *checker) whole(d described) desired.Place { return j.files.whole(*d.object) }

func stringAt(o object.Object, keys ...string) string {
	s, _ := o.At(keys...).(string)
	return s
}

// dottedField is a field as people write it: spec.minReplicas.
func dottedField(p field.Path) string { return strings.TrimPrefix(field.PathString(p), ".") }

// numberAt reads a whole number, and whether the field is there at all.
func numberAt(o object.Object, keys ...string) (n int64, there bool) {
	n, there = field.WholeNumber(o.At(keys...))
	return n, there
}

// listItems are the maps of a list.
func listItems(v any) []object.Object {
	list, _ := v.([]any)
	var out []object.Object
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// metric is a part of an autoscaler's intent that is measured against what pods request.
type metric struct {
	resource  string // cpu, memory
	container string // empty for all of a pod
	percent   string
	path      field.Path // in the autoscaler
}

// String returns the metric: "80 % of the requested cpu".
func (m metric) String() string { return fmt.Sprintf("%s of the requested %s", m.percent, m.resource) }

// utilizations are the metrics of an HPA or a ScaledObject that need requests. An HPA that names no metric at all means 80 % of the CPU.
func utilizations(o object.Object) []metric {
	id := o.ID()
	switch {
	case isScaledObject(id):
		return triggers(o)
	case !isHorizontalAutoscaler(id):
		return nil
	case o.GVK().Version == "v1":
		return []metric{{"cpu", "", percent(o.At("spec", "targetCPUUtilizationPercentage")), field.NewPath("spec", "targetCPUUtilizationPercentage")}}
	}
	all := listItems(o.At("spec", "metrics"))
	if len(all) == 0 {
		return []metric{{"cpu", "", "80 %", field.NewPath("spec", "metrics")}}
	}
	var out []metric
	for i, m := range all {
		for _, key := range []string{"resource", "containerResource"} {
			if stringAt(m, key, "target", "type") == "Utilization" {
				out = append(out, metric{stringAt(m, key, "name"), stringAt(m, key, "container"), percent(m.At(key, "target", "averageUtilization")), itemPath(field.NewPath("spec", "metrics"), i)})
			}
		}
	}
	return out
}

// triggers are KEDA's of the types cpu and memory.
func triggers(o object.Object) []metric {
	var out []metric
	for i, t := range listItems(o.At("spec", "triggers")) {
		kind := stringAt(t, "type")
		if (kind == "cpu" || kind == "memory") && (stringAt(t, "metricType") == "Utilization" || stringAt(t, "metadata", "type") == "Utilization") {
			out = append(out, metric{kind, stringAt(t, "metadata", "containerName"), percent(t.At("metadata", "value")), itemPath(field.NewPath("spec", "triggers"), i)})
		}
	}
	return out
}

func percent(v any) string {
	if v == nil {
		return "80 %"
	}
	return fmt.Sprintf("%v %%", v)
}

// itemPath is the path of a list's item, by position.
func itemPath(list field.Path, i int) field.Path {
	return append(list.Copy(), field.Element{Index: &i})
}
