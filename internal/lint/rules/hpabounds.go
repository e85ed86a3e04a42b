package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

func hpaBounds() rule {
	return rule{Rule{
		ID: "hpa-bounds", Severity: Error,
		Title: "an autoscaler's bounds cannot hold",
		Reason: "The API server refuses an HPA of which maxReplicas is less than 1 or less than minReplicas, and one of which minReplicas is 0 " +
			"without a metric of type Object or External; before Kubernetes 1.37 minReplicas: 0 needs the feature gate HPAScaleToZero, too. KEDA " +
			"refuses a ScaledObject likewise. The older object stays in the cluster, and the revision does not become ready.",
		Remedy: "Write 1 <= minReplicas <= maxReplicas; of a ScaledObject idleReplicaCount < minReplicaCount <= maxReplicaCount.",
		Source: "Kubernetes pkg/apis/autoscaling/validation; KEP-2021; KEDA's ScaledObject specification",
	}, func(j *checker) []Finding {
		var out []Finding
		for d := range j.described() {
			b, ok := boundsOf(d.object.Data)
			if !ok {
				continue
			}
			p, message, remedy := b.wrong(d.object.Data)
			if message == "" {
				continue
			}
			f := j.finding(d, p)
			f.Message, f.Remedy = shortName(d.id())+": "+message, remedy
			if b.min == 0 && b.atZero {
				f.Severity = Info
			}
			out = append(out, f)
		}
		return out
	}}
}

// limits are what an autoscaler writes of its bounds.
type limits struct {
	least, most field.Path
	min, max    int64
	hasMax      bool
	atZero      bool // min is 0, and may be where the cluster is new enough
	keda        bool
}

func boundsOf(o object.Object) (limits, bool) {
	b := limits{least: field.NewPath("spec", "minReplicas"), most: field.NewPath("spec", "maxReplicas"), min: 1}
	switch id := o.ID(); {
	case isScaledObject(id):
		b = limits{least: field.NewPath("spec", "minReplicaCount"), most: field.NewPath("spec", "maxReplicaCount"), max: 100, hasMax: true, keda: true}
	case !isHorizontalAutoscaler(id):
		return limits{}, false
	}
	for p, into := range map[*field.Path]*int64{&b.least: &b.min, &b.most: &b.max} {
		v, there := field.ValueAt(o, *p)
		if !there {
			continue
		}
		n, whole := field.WholeNumber(v)
		if !whole {
			return limits{}, false // a variable, or a text: the schema decides
		}
		*into, b.hasMax = n, b.hasMax || p == &b.most
	}
	b.atZero = !b.keda && b.min == 0 && b.max > 0 && slices.ContainsFunc(listItems(o.At("spec", "metrics")), func(m object.Object) bool {
		return stringAt(m, "type") == "Object" || stringAt(m, "type") == "External"
	})
	return b, true
}

// wrong says what cannot hold, at which field, and what to do.
func (b limits) wrong(o object.Object) (p field.Path, message, remedy string) {
	least, most := dottedField(b.least), dottedField(b.most)
	idle, hasIdle := numberAt(o, "spec", "idleReplicaCount")
	switch {
	case !b.hasMax:
		return field.NewPath("spec"), "there is no " + most + ": the API server refuses it", "name " + most
	case b.max < 1:
		return b.most, fmt.Sprintf("%s is %d, and must be at least 1", most, b.max), "name the greatest count that the workload may have"
	case b.min < 0:
		return b.least, fmt.Sprintf("%s is %d, and must not be negative", least, b.min), "name the least count that the workload needs"
	case b.min > b.max:
		return b.least, fmt.Sprintf("%s is %d, more than %s, which is %d: it is refused, and the one in the cluster stays as it is", least, b.min, most, b.max),
			"lower " + least + " or raise " + most
	case b.keda && hasIdle && idle >= b.min:
		return field.NewPath("spec", "idleReplicaCount"), fmt.Sprintf("spec.idleReplicaCount is %d, and must be less than %s, which is %d", idle, least, b.min),
			"raise " + least + " or leave out spec.idleReplicaCount"
	case b.atZero:
		return b.least, least + " is 0: before Kubernetes 1.37 that is refused unless the feature gate HPAScaleToZero is on", "see which version the cluster has"
	case !b.keda && b.min == 0:
		return b.least, least + " is 0 without a metric of type Object or External: it is refused, because nothing shows when to start again",
			"write " + least + ": 1, or add such a metric"
	}
	return nil, "", ""
}
