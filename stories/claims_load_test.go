package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// autoscaled are the workloads of the load; each has a real autoscaler, and a count in Git.
const autoscaled = 8

func TestUnderLoadNoCountIsWrittenAgainstItsAutoscaler(t *testing.T) { load(t, 25*time.Second) }

func TestLongUnderLoadNoCountIsWrittenAgainstItsAutoscalerFor10Minutes(t *testing.T) {
	load(t, 10*time.Minute)
}

// load lets the autoscalers move all the time, while Git changes the counts and other fields and every app is checked again and again.
// Each value of each count is seen by a watch, and attributed to its writer.
func load(t *testing.T, length time.Duration) {
	w := offWorld(t, loaded())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), length+5*patience)
	t.Cleanup(cancel)
	w.ctx = ctx
	w.start(policy.Policy{})
	w.app("load", "./app", "interval: 2s")
	w.ready("load")
	var watches []*kubetest.Recorder
	for i := range autoscaled {
		watches = append(watches, w.Watch(t, deployments, w.ns, fmt.Sprint("web-", i)))
	}
	random, commits := rand.New(rand.NewPCG(1, 1)), 0
	for end := time.Now().Add(length); time.Now().Before(end); commits++ {
		i := random.IntN(autoscaled)
		w.kubectl("annotate", "--overwrite", fmt.Sprint("deployment/web-", i), fmt.Sprintf("sandbox.truce.dev/cpu-total=%dm", (2+random.IntN(5))*50-5))
		file := fmt.Sprintf("app/web-%d.yaml", random.IntN(autoscaled))
		w.repo.Commit(map[string]string{file: w.loadedFile(file, 1+random.IntN(9), commits)}, "a count and a colour")
		if commits%5 == 0 {
			w.ready("load")
		}
	}
	w.ready("load")
	byHPA, byTruce := 0, 0
	for _, d := range watches {
		all := d.Values()
		for i := 1; i < len(all); i++ {
			switch {
			case replicas(all[i-1].Object) == replicas(all[i].Object):
			case truceWrote(all[i-1].Object, all[i].Object):
				byTruce++
				t.Errorf("truce wrote %d over %d at version %s", replicas(all[i].Object), replicas(all[i-1].Object), all[i].Object.GetResourceVersion())
			default:
				byHPA++
			}
		}
	}
	t.Logf("%s, %d workloads, %d commits: the autoscalers moved a count %d times, truce %d times", length, autoscaled, commits, byHPA, byTruce)
	if byHPA == 0 {
		t.Error("no autoscaler moved anything: this was no load")
	}
}

func loaded() string {
	var b strings.Builder
	for i := range autoscaled {
		fmt.Fprintf(&b, "-- app/web-%d.yaml --\n%s", i, loadedText(i, 2, 0))
	}
	return b.String()
}

func (w *world) loadedFile(file string, count, colour int) string {
	var i int
	if _, err := fmt.Sscanf(file, "app/web-%d.yaml", &i); err != nil {
		w.t.Fatal(err)
	}
	return strings.ReplaceAll(loadedText(i, count, colour), "NAMESPACE", w.ns)
}

func loadedText(i, count, colour int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%[1]d, namespace: NAMESPACE, annotations: {colour: "%[3]d"}}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: web-%[1]d}}
  template:
    metadata: {labels: {app: web-%[1]d}}
    spec: {containers: [{name: main, image: "nginx:1.21.0", resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web-%[1]d, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web-%[1]d}
  minReplicas: 1
  maxReplicas: 6
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`, i, count, colour)
}
