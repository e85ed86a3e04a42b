package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// tour shows what truce does, on the cluster as it is. What it prints comes from its own watch and from the engine's notices;
// nothing is known beforehand.
type tour struct {
	steps     *stepPrinter
	world     *upEnvironment
	claims    policy.Claims
	bystander *clusterWatcher
}

func (t *tour) run(ctx context.Context) error {
	var err error
	if t.bystander, err = newClusterWatcher(t.world.Kubeconfig, t.world.Context); err != nil {
		return err
	}
	s, err := t.bystander.find(ctx)
	if err != nil {
		return err
	}
	if err := t.commit(ctx); err != nil {
		return err
	}
	if s.free != nil {
		if err := t.byHand(ctx, s.free); err != nil {
			return err
		}
	}
	switch {
	case s.scaled == nil:
		t.steps.Step("no managed Deployment has an autoscaler: the rest of the tour needs one")
		return nil
	case t.claims == policy.ClaimsOff:
		return t.fight(ctx, s)
	}
	return t.load(ctx, s)
}

// kubectl runs it as a person would, and shows the line.
func (t *tour) kubectl(ctx context.Context, args ...string) error {
	t.steps.block("  $ " + t.world.kubectl() + " " + strings.Join(args, " "))
	program := cmp.Or(t.world.Kubectl, "kubectl")
	if t.world.Context != "" {
		args = append([]string{"--context", t.world.Context}, args...)
	}
	if t.world.Kubeconfig != "" {
		args = append([]string{"--kubeconfig", t.world.Kubeconfig}, args...)
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

const (
	changeTimeout = time.Minute     // for one change to be answered, on a busy machine too
	loadSpan      = 2 * time.Minute // for the autoscaler to have scaled up
	fightSpan     = 30 * time.Second
	quietSpan     = 8 * time.Second // without any change, to show that there is none
)

// byHand scales a Deployment without a claimant.
func (t *tour) byHand(ctx context.Context, o object.Object) error {
	ctx, cancel := context.WithTimeoutCause(ctx, changeTimeout, errors.New("it was not put back in time"))
	defer cancel()
	values, err := t.bystander.replicas(ctx, o)
	if err != nil {
		return err
	}
	first, err := receiveSample(ctx, values)
	if err != nil {
		return err
	}
	other := first.value + 2
	t.steps.heading("A change by hand", fmt.Sprintf("Deployment %s has replicas: %d, as Git says. A person scales it:", fullName(o.ID()), first.value))
	if err := t.kubectl(ctx, "-n", o.Namespace(), "scale", "deployment", o.Name(), fmt.Sprintf("--replicas=%d", other)); err != nil {
		return err
	}
	last := first
	var changed, back time.Time
	for back.IsZero() {
		v, err := receiveSample(ctx, values)
		if err != nil {
			return err
		}
		t.change(o, last, v)
		if v.value == first.value {
			back = v.at
		} else if changed.IsZero() {
			changed = v.at
		}
		last = v
	}
	t.steps.Step(fmt.Sprintf("put back %s later, as a watch that is not truce's saw it", back.Sub(changed).Round(100*time.Microsecond)))
	n, err := t.awaitFinding(ctx, o, func(n report.FindingEvent) bool { return n.Carried })
	if err != nil {
		return err
	}
	return t.message(n)
}

// change prints one new value.
func (t *tour) change(o object.Object, was, is sample) {
	by := ""
	if is.by != "" {
		by = "  by " + is.by
	}
	t.steps.at(is.at, fmt.Sprintf("%s replicas %d → %-3d %-12s%s", o.Name(), was.value, is.value, chartBar(is.value), by))
}

func receiveSample[T any](ctx context.Context, values <-chan sampleOf[T]) (sampleOf[T], error) {
	select {
	case v, ok := <-values:
		if !ok {
			return v, cmp.Or(context.Cause(ctx), errWatchEnded)
		}
		return v, nil
	case <-ctx.Done():
		return sampleOf[T]{}, context.Cause(ctx)
	}
}

// awaitFinding waits for truce's own finding about the replicas of an object.
func (t *tour) awaitFinding(ctx context.Context, o object.Object, is func(report.FindingEvent) bool) (report.FindingEvent, error) {
	for {
		select {
		case n := <-t.world.Notices:
			if n.ID == o.ID() && field.HasPrefix(n.Finding.Path, claim.Replicas()) && is(n) {
				t.steps.at(n.At, "truce says: "+t.steps.term.in(bold, n.Finding.Sentence(n.ID)))
				return n, nil
			}
		case <-ctx.Done():
			return report.FindingEvent{}, fmt.Errorf("no notice of it: %w", context.Cause(ctx))
		}
	}
}

// open begins to watch the workload that is scaled, and prints its count.
func (t *tour) open(ctx context.Context, s tourObjects) (<-chan sample, sample, error) {
	values, err := t.bystander.replicas(ctx, s.scaled)
	if err != nil {
		return nil, sample{}, err
	}
	first, err := receiveSample(ctx, values)
	return values, first, err
}

// load lets the load rise under an autoscaler.
func (t *tour) load(ctx context.Context, s tourObjects) error {
	id := s.scaled.ID()
	begin := time.Now()
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	values, first, err := t.open(watching, s)
	if err != nil {
		return err
	}
	git, err := t.gitSays(ctx, id, first.value)
	if err != nil {
		return err
	}
	t.steps.heading("An autoscaler at work", fmt.Sprintf("Git says replicas: %d for Deployment %s, and an autoscaler scales it. Load rises:", git, fullName(id)))
	seen, err := t.rise(ctx, s, values, []sample{{begin, first.value, first.by}})
	if err != nil {
		return err
	}
	t.steps.Step(fmt.Sprintf("watching for %s whether another writer takes it back", quietSpan))
	if seen, err = t.during(ctx, s, values, seen); err != nil {
		return err
	}
	t.steps.block("", "  replicas of "+fullName(id)+" over time:", "")
	t.steps.block(drawChart(seen, time.Now(), git)...)
	outcome := "no other writer took it back"
	if n := countReversals(seen); n > 0 {
		outcome = pluralize(n, "change was", "changes were") + " taken back"
	}
	t.steps.block("", fmt.Sprintf("  %s: %s.", valueSequence(seen), outcome))
	return t.cure(ctx, id)
}

// rise raises the load in two steps; after the first, truce says what it makes of it.
func (t *tour) rise(ctx context.Context, s tourObjects, values <-chan sample, seen []sample) ([]sample, error) {
	begin := seen[0].value
	seen, err := t.climb(ctx, s, values, seen, begin+2)
	if err == nil && len(seen) > 1 {
		err = t.ceded(ctx, s.scaled)
	}
	if err == nil {
		seen, err = t.climb(ctx, s, values, seen, begin+5)
	}
	return seen, err
}

// climb puts on the load for so many pods, and follows the autoscaler there.
func (t *tour) climb(ctx context.Context, s tourObjects, values <-chan sample, seen []sample, pods int64) ([]sample, error) {
	want, load := loadForPods(s, pods)
	if want == seen[len(seen)-1].value {
		return seen, nil
	}
	if err := t.raise(ctx, s, load); err != nil {
		return seen, err
	}
	return t.until(ctx, s, values, seen, want)
}

// ceded waits for truce's word that the field is the autoscaler's.
func (t *tour) ceded(ctx context.Context, o object.Object) error {
	ctx, stop := context.WithTimeoutCause(ctx, changeTimeout, errors.New("it was not ceded in time"))
	defer stop()
	_, err := t.awaitFinding(ctx, o, func(n report.FindingEvent) bool { return n.Finding.Verdict == decide.Cede })
	return err
}

// during follows the values for a while.
func (t *tour) during(ctx context.Context, s tourObjects, values <-chan sample, seen []sample) ([]sample, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, quietSpan, errTourShown)
	defer cancel()
	for {
		v, err := receiveSample(waiting, values)
		if errors.Is(err, errTourShown) {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		t.change(s.scaled, seen[len(seen)-1], v)
		seen = append(seen, v)
	}
}

// valueSequence is the values one after the other.
func valueSequence(seen []sample) string {
	var out []string
	for _, s := range seen {
		out = append(out, fmt.Sprint(s.value))
	}
	return strings.Join(out, " → ")
}

func (t *tour) raise(ctx context.Context, s tourObjects, milli int64) error {
	return t.kubectl(ctx, "-n", s.scaled.Namespace(), "annotate", "deployment", s.scaled.Name(), "--overwrite", fmt.Sprintf("sandbox.truce.dev/cpu-total=%dm", milli))
}

// until follows the values until the wanted one, or for loadSpan.
func (t *tour) until(ctx context.Context, s tourObjects, values <-chan sample, seen []sample, want int64) ([]sample, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadSpan, fmt.Errorf("the autoscaler did not come to %d replicas in time", want))
	defer cancel()
	for seen[len(seen)-1].value != want {
		v, err := receiveSample(ctx, values)
		if err != nil {
			return seen, err
		}
		t.change(s.scaled, seen[len(seen)-1], v)
		seen = append(seen, v)
	}
	return seen, nil
}

// details are the apps as a run without writes finds them.
func (t *tour) details(ctx context.Context) ([]view.Detail, error) {
	names, err := t.world.Cluster.Names(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []view.Detail
	for _, k := range names {
		d, err := t.world.Cluster.Inspect(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// gitSays is the number of replicas that Git names for an object: the live one unless they differ.
func (t *tour) gitSays(ctx context.Context, id object.ID, live int64) (int64, error) {
	all, err := t.details(ctx)
	for _, d := range all {
		for _, f := range findingsOf(d, id) {
			if n, ok := f.Desired.(int64); ok && f.Path.Equals(claim.Replicas()) {
				return n, nil
			}
		}
	}
	return live, err
}

func findingsOf(d view.Detail, id object.ID) []report.Finding {
	for _, o := range d.Report.Objects {
		if o.ID == id {
			return o.Findings
		}
	}
	return nil
}

// cure shows how the difference ends for good.
func (t *tour) cure(ctx context.Context, id object.ID) error {
	all, err := t.details(ctx)
	v := detailPrinter{term: t.steps.term}
	for _, d := range all {
		for _, f := range findingsOf(d, id) {
			t.steps.block("", fmt.Sprintf("  $ %s app get %s -n %s%s   # cut", t.world.truce(), d.Report.App.Name, d.Report.App.Namespace, t.world.inContext()), "")
			t.steps.block(indented(v.sentences(id, f, d))...)
		}
	}
	return err
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "    " + l
	}
	return out
}
