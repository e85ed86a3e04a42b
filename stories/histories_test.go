package stories

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var historySeed = flag.Uint64("histories", 0, "play only the random histories of this seed")

// TestACountThatIsNotTrucesNeverChangesBecauseOfTruce lets random things happen to workloads: autoscalers come, scale and go, people
// scale, Git names another count or none, truce dies at any of its requests. An independent watch sees every value of every object:
// while the count is claimed, or Git does not name it, no write by truce changes it.
func TestACountThatIsNotTrucesNeverChangesBecauseOfTruce(t *testing.T) { histories(t, 101) }

func TestLongACountThatIsNotTrucesNeverChangesIn100Histories(t *testing.T) {
	seeds := make([]uint64, 10)
	for i := range seeds {
		seeds[i] = uint64(100 + i)
	}
	histories(t, seeds...)
}

var keda = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}

// historiesOfSeed is how many objects one seed is about, and rounds how much happens to them.
const (
	historiesOfSeed = 10
	rounds          = 7
)

func histories(t *testing.T, seeds ...uint64) {
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	if *historySeed != 0 {
		seeds = []uint64{*historySeed}
	}
	low, drops, n := 1.0, 0, 0
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := newSaga(t, c, binary, seed)
			s.play()
			for _, x := range s.subjects {
				low, drops, n = min(low, x.lowest()), drops+len(x.drops), n+1
			}
		})
	}
	t.Logf("%d random histories: the count left Git %d times; the lowest count after that was %.2f of what was live", n, drops, low)
	if low < 1 {
		t.Error("a count has fallen because it left Git")
	}
}

// saga is a stage with objects to which things happen.
type saga struct {
	*stage
	*rand.Rand
	seed     uint64
	subjects []*subject
}

func newSaga(t *testing.T, c *kubetest.Cluster, binary string, seed uint64) *saga {
	s := &saga{stage: newStage(t, c, binary, "-- app/README --\nempty\n"), Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed}
	s.Apply(t, scaledObjects)
	s.later(crds, "", "scaledobjects.keda.sh")
	kinds := map[string]schema.GroupVersionResource{
		"Deployment": deployments, "StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"},
		"ReplicaSet": {Group: "apps", Version: "v1", Resource: "replicasets"},
		"Crew":       s.defineCrews("Crew", ""), "Guild": s.defineCrews("Guild", ""),
	}
	s.until("KEDA's kind to be served", func() bool { return s.canList(keda) })
	for i := range historiesOfSeed {
		kind := []string{"Deployment", "StatefulSet", "ReplicaSet", "Crew", "Guild"}[i%5]
		x := &subject{
			kind: kind, name: fmt.Sprintf("%s-%d", strings.ToLower(kind), i), at: kinds[kind], by: map[string]string{},
			birth: s.pick("truce", "kubectl apply", "helm", "POST"), git: s.pick("", "null", "3", "4"),
		}
		x.watch = s.Watch(t, x.at, s.ns, x.name)
		s.subjects = append(s.subjects, x)
	}
	return s
}

func (s *saga) pick(from ...string) string { return from[s.IntN(len(from))] }

// play is the whole of one seed.
func (s *saga) play() {
	s.prologue()
	for range rounds {
		s.round()
	}
	s.epilogue()
	for _, x := range s.subjects {
		for _, wrong := range x.judge() {
			s.t.Errorf("%s\nits history (-histories=%d plays it again):\n  %s", wrong, s.seed, strings.Join(x.lines, "\n  "))
		}
	}
}

// prologue makes what is there before truce, and lets truce take it up.
func (s *saga) prologue() {
	for _, x := range s.subjects {
		if x.birth != "truce" {
			s.born(x)
		}
		if s.IntN(3) == 0 {
			s.claims(x)
		}
		x.guarded(x.claim != "" || x.git == "" || x.git == "null")
		x.say("Git begins with count %q", x.git)
	}
	s.commit(s.subjects...)
	s.app("")
	s.begin()
	s.ready("web")
	s.quiet()
}

// commit writes what Git wants now.
func (s *saga) commit(of ...*subject) {
	files := map[string]string{}
	for _, x := range of {
		files[x.file()] = x.manifest(s.ns, x.git)
		x.fresh = true
	}
	s.repo.Commit(files, "something else")
}

// round lets one thing happen to each object. Before a calm one truce is brought to rest.
func (s *saga) round() {
	calm := s.IntN(2) == 0
	if !s.truce.Load().running() {
		s.toll.disarm()
		s.begin()
	}
	if calm {
		s.rest()
		for _, x := range s.subjects {
			x.fresh = false
		}
	}
	if s.IntN(2) == 0 {
		way, n := death{before, s.kill}, 1+s.IntN(25)
		if s.IntN(2) == 0 {
			way.when = after
		}
		s.toll.arm(map[int]fault{n: way})
		s.all("truce is to die at its request %d, %s", n, way.when)
	}
	var changed []*subject
	for _, i := range s.Perm(len(s.subjects)) {
		x := s.subjects[i]
		if s.happen(x, calm) {
			changed = append(changed, x)
		}
		if x.claim == "keda" && s.IntN(2) == 0 {
			s.scale(x, "KEDA", "keda-operator", int64(1+s.IntN(6)), "scale")
		}
	}
	if len(changed) > 0 {
		s.commit(changed...)
		s.look()
		for _, x := range changed { // while truce is at it
			if x.claim == "keda" && s.IntN(2) == 0 {
				s.scale(x, "KEDA", "keda-operator", int64(1+s.IntN(6)), "scale")
			}
		}
	}
	select { // a pause is a part of the history
	case <-time.After(time.Duration(s.IntN(300)) * time.Millisecond):
	case <-s.ctx.Done():
	}
}

// rest brings a living truce to rest, with all that Git says. One that was about to die when it was spared is seen to be dead only then.
func (s *saga) rest() {
	s.toll.disarm()
	s.quiet()
	if !s.truce.Load().running() {
		s.begin()
	}
	s.ready("web")
	s.quiet()
}

func (s *saga) all(format string, args ...any) {
	for _, x := range s.subjects {
		x.say(format, args...)
	}
}

// happen lets one thing happen to an object, and reports whether Git is to change. What a stale truce may rightly answer with an
// older Git's value happens only while truce is at rest.
func (s *saga) happen(x *subject, calm bool) (commit bool) {
	settled := calm || !x.fresh && x.claim != ""
	switch s.IntN(9) {
	case 0, 1:
		if x.claim == "" && calm {
			s.claims(x)
		} else if x.claim != "" {
			s.claimantWrites(x)
		}
	case 2:
		if x.claim != "" && settled {
			s.unclaims(x)
		}
	case 3, 4:
		if x.claim != "" || settled {
			person := [][]string{{"scale"}, nil}[s.IntN(2)]
			s.scale(x, "a person", "kubectl", int64(s.IntN(7)), person...)
		}
	case 5:
		return s.gitSays(x, fmt.Sprint(2+s.IntN(5)), true)
	case 6, 7:
		return s.gitSays(x, s.pick("", "null"), calm || x.claim != "")
	default:
		x.colour++
		x.say("Git changes another field")
		return true
	}
	return false
}

func (s *saga) gitSays(x *subject, count string, may bool) bool {
	if !may {
		return false
	}
	names := count != "" && count != "null"
	if was := x.git != "" && x.git != "null"; was && !names {
		x.drops = append(x.drops, drop{time.Now(), x.live()})
	}
	x.git = count
	x.guarded(x.claim != "" || !names)
	x.say("Git says count %q (live %d)", count, x.live())
	return true
}

// claims lets an autoscaler appear.
func (s *saga) claims(x *subject) {
	x.claim = s.pick("hpa", "keda")
	s.Apply(s.t, s.claimant(x, 1, 9))
	x.guarded(true)
	x.say("%s claims the count", x.claim)
}

// unclaims lets it go.
func (s *saga) unclaims(x *subject) {
	x.guarded(x.git == "" || x.git == "null")
	x.say("%s ends (live %d)", x.claim, x.live())
	kind := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	if x.claim == "keda" {
		kind = keda
	}
	if err := s.client.Resource(kind).Namespace(s.ns).Delete(s.ctx, x.name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	x.claim = ""
}

// claimantWrites moves the count: the bounds of a real autoscaler, or as KEDA's own controller does.
func (s *saga) claimantWrites(x *subject) {
	n := 1 + s.IntN(6)
	if x.claim == "keda" {
		s.scale(x, "KEDA", "keda-operator", int64(n), "scale")
		return
	}
	x.say("the HPA is to hold the count at %d", n)
	s.Apply(s.t, s.claimant(x, n, n))
}

// epilogue ends every claim, and checks that Git's word counts again.
func (s *saga) epilogue() {
	s.rest()
	for _, x := range s.subjects {
		if x.claim != "" {
			s.unclaims(x)
		}
		s.gitSays(x, "8", true)
	}
	s.commit(s.subjects...)
	s.look()
	s.ready("web")
	for _, x := range s.subjects {
		s.until(x.kind+" "+x.name+" to have Git's count", func() bool { return x.live() == 8 })
	}
}
