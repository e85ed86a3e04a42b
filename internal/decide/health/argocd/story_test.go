package argocd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/health/argocd"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// custom says of every custom resource that it is one.
type custom struct{}

func (custom) Assess(object.Object) health.Status {
	return health.Status{Code: health.Unknown, Message: "judged as a custom resource"}
}

func assessor() argocd.Assessor { return argocd.Assessor{Custom: custom{}} }

// Each story has objects.yaml; an object's name says what is special about it.
func TestEachKindHasArgoCDsHealth(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		var out strings.Builder
		for _, text := range strings.Split(f.Need(t, "objects.yaml"), "---\n") {
			o := given.Object(t, text)
			s := assessor().Assess(o)
			line := fmt.Sprintf("%s: %s %s", o.Name(), s.Code, s.Message)
			if s.ForApp() != s.Code {
				line += fmt.Sprintf(" (its app counts %s)", s.ForApp())
			}
			fmt.Fprintln(&out, strings.TrimSpace(line))
		}
		return out.String()
	})
}

func FuzzAssess(f *testing.F) {
	for _, kind := range []string{"Pod", "Service", "PersistentVolumeClaim"} {
		f.Add(`{apiVersion: v1, kind: ` + kind + `, spec: {restartPolicy: Never, type: LoadBalancer}, status: {phase: Failed, conditions: [{type: Ready}], containerStatuses: [{state: {waiting: {reason: ErrX}}}]}}`)
	}
	f.Add(`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1.5, updateStrategy: {rollingUpdate: 1}}, status: {conditions: [1, {type: a}]}}`)
	f.Add(`{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: "["}}}`)
	f.Add(`{apiVersion: batch/v1, kind: CronJob, status: {lastScheduleTime: x, active: {}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := given.ParseObject(text)
		if err != nil {
			return
		}
		s := assessor().Assess(o)
		if s.Code == "" || s.Code != health.Healthy && s.Message == "" {
			t.Errorf("%s: %v", text, s)
		}
	})
}
