package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pointsInShort is at how many requests of a scene truce is killed in the short form.
const pointsInShort = 6

func TestACrashAtSomeRequestsChangesNothingInTheEnd(t *testing.T) { crashes(t, spread) }

func TestLongACrashAtEveryRequestChangesNothingInTheEnd(t *testing.T) { crashes(t, every) }

// crashes plays every scene once without a crash, and then again and again with one.
func crashes(t *testing.T, choose func([]string) []point) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	for _, x := range slices.Concat(scenes, passages) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var whole outcome
			t.Run("no crash", func(t *testing.T) { whole = x.play(newStage(t, c, binary, x.files)) })
			if t.Failed() {
				return
			}
			points := choose(whole.requests)
			t.Logf("%d requests, killed at %v", len(whole.requests), points)
			for _, p := range points {
				t.Run(p.String(), func(t *testing.T) {
					t.Parallel()
					x.crash(newStage(t, c, binary, x.files), p, whole)
				})
			}
		})
	}
}

// point is a request at which truce is killed, and what becomes of that request.
type point struct {
	n     int
	when  moment
	again int // the next truce is killed at this request of its own; 0 for never
}

func (p point) String() string {
	if p.again > 0 {
		return fmt.Sprintf("%d %s, and again at %d", p.n, p.when, p.again)
	}
	return fmt.Sprintf("%d %s", p.n, p.when)
}

// every is each request, in both ways, and once more with a second crash on the way back.
func every(requests []string) []point {
	const stride, back = 7, 20 // a truce that comes back makes about 20 requests until it rests
	var out []point
	for i := range requests {
		out = append(out, point{n: i + 1, when: before}, point{n: i + 1, when: after}, point{i + 1, after, 1 + i*stride%back})
	}
	return out
}

// spread is the first and the last write, the first request, and some between; each in one of the two ways.
func spread(requests []string) []point {
	var writes []int
	for i, r := range requests {
		if isWrite(r) {
			writes = append(writes, i+1)
		}
	}
	chosen := map[int]bool{1: true}
	for i := range pointsInShort - 1 {
		if len(writes) > 0 {
			chosen[writes[i*(len(writes)-1)/(pointsInShort-2)]] = true
		}
	}
	var out []point
	for n := range chosen {
		out = append(out, point{n: n, when: before})
	}
	slices.SortFunc(out, func(a, b point) int { return a.n - b.n })
	for i := range out {
		if i%2 == 1 {
			out[i].when = after
		}
	}
	return out
}

// outcome is what a scene without a crash looked like.
type outcome struct {
	requests []string
	end      picture
	specs    map[string]bool
	deleted  map[string]bool // by truce, by kind and name
	// deployment is the last form of the Deployment; nil for none.
	deployment *unstructured.Unstructured
}

// play plays a scene without a crash.
func (x scene) play(s *stage) outcome {
	s.t.Helper()
	from := x.prepare(s)
	s.toll.disarm()
	x.trigger(s)
	x.settled(s)
	out := outcome{requests: s.toll.requests()}
	if x.meanwhile != nil {
		x.meanwhile(s)
		s.look()
		x.settled(s)
	}
	out.end, out.specs, out.deleted = s.picture(), s.specs(s.deployments.Values(), from), s.deleted()
	if values := s.deployments.Values(); len(values) > 0 {
		out.deployment = values[len(values)-1].Object
	}
	x.check(s, from)
	return out
}

// crash plays a scene with a crash, and goes on with a new truce.
func (x scene) crash(s *stage, p point, whole outcome) {
	s.t.Helper()
	from := x.prepare(s)
	s.toll.arm(map[int]fault{p.n: death{p.when, s.kill}})
	x.trigger(s)
	s.crashed()
	if x.meanwhile != nil {
		x.meanwhile(s)
	}
	if p.again > 0 {
		s.toll.arm(map[int]fault{p.again: death{before, s.kill}})
		s.begin()
		s.crashed()
	}
	s.toll.disarm()
	s.begin()
	s.looksLike(whole.end)
	x.settled(s)
	s.looksLike(whole.end)
	for spec := range s.specs(s.deployments.Values(), from) {
		if !whole.specs[spec] {
			s.t.Errorf("the Deployment once was, as without a crash it never is: %s", spec)
		}
	}
	x.check(s, from)
}

// prepare brings the stage to where the scene begins, and returns how many values of the Deployment were seen until then.
func (x scene) prepare(s *stage) int {
	s.t.Helper()
	if x.live {
		s.app("")
		s.start()
		x.settled(s)
	}
	if x.setup != nil {
		x.setup(s)
		s.quiet()
	}
	return len(s.deployments.Values())
}

// settled waits until truce has done all that it can.
func (x scene) settled(s *stage) {
	s.t.Helper()
	switch {
	case x.ended != nil:
		x.ended(s)
	case !s.leaving():
		s.ready("web")
	}
	s.quiet()
}

// leaving reports whether the app is being removed, or has been.
func (s *stage) leaving() bool {
	s.t.Helper()
	u, err := s.client.Resource(kustomizations).Namespace(s.ns).Get(s.ctx, "web", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err != nil || u.GetDeletionTimestamp() != nil
}

// crashed waits for the death of truce. Requests run beside each other, so that a run may have fewer of them than the first one
// had: then truce dies at rest.
func (s *stage) crashed() {
	s.t.Helper()
	const silence = 2 * time.Second
	rests := s.rests(silence)
	s.until("the death of truce", func() bool {
		now := s.toll.traffic()
		return !s.truce.Load().running() || rests(now) && now.seen > 0
	})
	if s.truce.Load().running() {
		s.t.Logf("only %d requests: killed at rest", s.toll.traffic().seen)
		s.kill()
	}
	s.childless()
	s.toll.next()
}

// check holds what must be true at the end of any run.
func (x scene) check(s *stage, from int) {
	s.t.Helper()
	s.accounted(x.objects)
	x.autoscales(s, from)
}

// autoscales checks that values stay as they are, and that an autoscaler can go on.
func (x scene) autoscales(s *stage, from int) {
	s.t.Helper()
	s.unchanged()
	if x.load > 0 {
		s.load(x.load)
		s.await(s.deployments, func(o *unstructured.Unstructured) bool { return replicas(o) == int64(x.load) })
		s.quiet()
	}
	if x.floor > 0 {
		s.counts(s.t, from, x.floor)
	}
}
