package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestTheTopmostOwnerThatSaysSomethingWins(t *testing.T) {
	type says = map[string]string
	for name, c := range map[string]struct {
		says    []says
		sharers int
		want    [2]string
	}{
		"nothing said":          {[]says{nil, nil}, 2, [2]string{"1m", "8Mi"}},
		"each":                  {[]says{{AnnotationCPU: "90m", AnnotationMemory: "1Gi"}}, 3, [2]string{"90m", "1Gi"}},
		"shared":                {[]says{{AnnotationCPUTotal: "400m", AnnotationMemoryTotal: "1Gi"}}, 4, [2]string{"100m", "256Mi"}},
		"the owner before":      {[]says{{AnnotationCPU: "1"}, {AnnotationCPU: "2"}}, 1, [2]string{"1", "8Mi"}},
		"the pod where alone":   {[]says{nil, {AnnotationCPU: "2"}}, 1, [2]string{"2", "8Mi"}},
		"each before the total": {[]says{{AnnotationCPU: "5m", AnnotationCPUTotal: "400m"}}, 4, [2]string{"5m", "8Mi"}},
	} {
		t.Run(name, func(t *testing.T) {
			use, err := podUsage(c.says, c.sharers)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, [2]string{use.Cpu().String(), use.Memory().String()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzALoadIsAFigureOrAnErrorAndNothingIsLostInTheSplit(f *testing.F) {
	f.Add("90m", 2, 3)
	f.Add("-1", 1, 1)
	f.Add("ten", 0, 2)
	f.Add("9223372036854775807", 7, 5)
	f.Fuzz(func(t *testing.T, text string, sharers, containers int) {
		use, err := podUsage([]map[string]string{{AnnotationCPUTotal: text, AnnotationMemory: text}}, sharers)
		if err != nil || containers < 1 || containers > 100 {
			return
		}
		if use.Cpu().Sign() < 0 || use.Memory().Sign() < 0 {
			t.Errorf("%q became %v", text, use)
		}
		sum := corev1.ResourceList{}
		for _, part := range splitUsage(use, containers) {
			addResources(sum, part)
		}
		if sum.Cpu().MilliValue() != use.Cpu().MilliValue() || sum.Memory().Value() != use.Memory().Value() {
			t.Errorf("%v became %v", use, sum)
		}
	})
}
