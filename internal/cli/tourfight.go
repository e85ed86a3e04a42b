package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// fight shows the fault that truce cures: Git and an autoscaler that both enforce their number.
func (t *tour) fight(ctx context.Context, s tourObjects) error {
	id, begin := s.scaled.ID(), time.Now()
	watching, cancel := context.WithTimeoutCause(ctx, fightSpan, errTourShown)
	defer cancel()
	values, first, err := t.open(watching, s)
	if err != nil {
		return err
	}
	git, err := t.gitSays(ctx, id, first.value)
	if err != nil {
		return err
	}
	t.steps.heading("A fight (--claims=off)", fmt.Sprintf("Git says replicas: %d for Deployment %s, and an autoscaler scales it. Claims are off, so that Git is enforced, as plain GitOps does. Load rises:", git, fullName(id)))
	_, load := loadForPods(s, git+5)
	if err := t.raise(ctx, s, load); err != nil {
		return err
	}
	seen := []sample{{begin, first.value, first.by}}
	for {
		v, err := receiveSample(watching, values)
		if errors.Is(err, errTourShown) {
			break
		}
		if err != nil {
			return err
		}
		t.change(s.scaled, seen[len(seen)-1], v)
		seen = append(seen, v)
	}
	t.steps.block("", "  replicas of "+fullName(id)+" over time:", "")
	t.steps.block(drawChart(seen, time.Now(), git)...)
	n := countReversals(seen)
	t.steps.block("", fmt.Sprintf("  %d times in %.0f s one took back what the other had set. It goes on as long as the load is there.", n, time.Since(begin).Seconds()))
	if n > 0 {
		t.steps.block("  That is the fault. With claims (the default) truce sees that an autoscaler targets the Deployment, cedes that one field",
			"  to it and keeps all others: run `truce up --tour` without --claims=off.")
	}
	return nil
}

var errTourShown = errors.New("enough was seen")

// countReversals counts how often a change went against the one before it.
func countReversals(seen []sample) int {
	n := 0
	for i := 2; i < len(seen); i++ {
		if (seen[i].value-seen[i-1].value)*(seen[i-1].value-seen[i-2].value) < 0 {
			n++
		}
	}
	return n
}

// loadForPods is the load, in thousandths of a CPU, at which the autoscaler wants so many pods (its own formula: pods = total load /
// target of one pod), and the number that it will come to within its bounds.
func loadForPods(s tourObjects, pods int64) (want, milli int64) {
	c := claimOf(s.scaler)
	want = min(max(pods, c.Min), c.Max)
	return want, want * cpuRequest(s.scaled) * utilisation(s.scaler) / 100
}

// utilisation is the target of the first metric, in percent.
func utilisation(scaler object.Object) int64 {
	metrics, _ := scaler.At("spec", "metrics").([]any)
	for _, m := range metrics {
		metric, _ := m.(map[string]any)
		if n, ok := object.Object(metric).At("resource", "target", "averageUtilization").(int64); ok {
			return n
		}
	}
	return 80 // the API's default where no metric is named
}
