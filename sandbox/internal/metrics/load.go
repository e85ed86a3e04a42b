package metrics

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Annotations on a workload; one on a pod itself counts where no workload
// above it says anything. A change holds from the next request on.
const (
	// AnnotationCPU and AnnotationMemory are what each running pod uses.
	AnnotationCPU    = "sandbox.truce.dev/cpu"
	AnnotationMemory = "sandbox.truce.dev/memory"
	// AnnotationCPUTotal and AnnotationMemoryTotal are shared equally by the
	// running pods of the workload, so that scaling relieves each.
	AnnotationCPUTotal    = "sandbox.truce.dev/cpu-total"
	AnnotationMemoryTotal = "sandbox.truce.dev/memory-total"
)

// idleUsage is what a pod uses of which nothing is said: next to nothing, but not
// nothing, as every process does.
func idleUsage() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1m"),
		corev1.ResourceMemory: resource.MustParse("8Mi"),
	}
}

// podUsage is what one of `sharers` running pods uses. The annotations are those
// of the pod's owners from the topmost down, then its own: the first that says
// something about a resource wins. An unreadable quantity is an error beside
// the idle value.
func podUsage(annotations []map[string]string, sharers int) (corev1.ResourceList, error) {
	use := idleUsage()
	cpu, err := loadFigure(annotations, AnnotationCPU, AnnotationCPUTotal)
	if err != nil {
		return use, err
	}
	if cpu.set {
		use[corev1.ResourceCPU] = *resource.NewMilliQuantity(cpu.each(cpu.value.MilliValue(), sharers), resource.DecimalSI)
	}
	memory, err := loadFigure(annotations, AnnotationMemory, AnnotationMemoryTotal)
	if err != nil {
		return use, err
	}
	if memory.set {
		use[corev1.ResourceMemory] = *resource.NewQuantity(memory.each(memory.value.Value(), sharers), resource.BinarySI)
	}
	return use, nil
}

// limit is far above any load, in cores or bytes, and far below where sums in
// thousandths overflow.
const limit = 1e15

// load is a quantity set by a user, for each pod or for all together.
type load struct {
	value       resource.Quantity
	set, shared bool
}

func (l load) each(amount int64, sharers int) int64 {
	if l.shared && sharers > 1 {
		return amount / int64(sharers)
	}
	return amount
}

func loadFigure(annotations []map[string]string, each, total string) (load, error) {
	for _, says := range annotations {
		for _, key := range []string{each, total} {
			text, ok := says[key]
			if !ok {
				continue
			}
			value, err := resource.ParseQuantity(text)
			if err != nil {
				return load{}, fmt.Errorf("annotation %s: %q: %w", key, text, err)
			}
			if value.Sign() < 0 || value.CmpInt64(limit) > 0 {
				return load{}, fmt.Errorf("annotation %s: %q is not between 0 and %d", key, text, int64(limit))
			}
			return load{value: value, set: true, shared: key == total}, nil
		}
	}
	return load{}, nil
}

// splitUsage shares a pod's usage among its containers; the first takes what does
// not divide.
func splitUsage(use corev1.ResourceList, containers int) []corev1.ResourceList {
	parts := make([]corev1.ResourceList, containers)
	cpu, memory := use.Cpu().MilliValue(), use.Memory().Value()
	n := int64(containers)
	for i := range parts {
		c, m := cpu/n, memory/n
		if i == 0 {
			c, m = c+cpu%n, m+memory%n
		}
		parts[i] = corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(c, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(m, resource.BinarySI),
		}
	}
	return parts
}
