package stories

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

var (
	faultsMany   = flag.Int("faults", 40, "how many trials `make faults` makes: first those that were made least often")
	faultsLedger = flag.String("faults.ledger", "", "directory of the ledger, which is read and added to; empty for none")
	faultsPage   = flag.String("faults.page", "", "the page to write from the ledger; empty for none")
	faultsCommit = flag.String("faults.commit", "", "the commit that the trials are made at, for the ledger")
	faultsSeed   = flag.Uint64("faults.seed", 1, "decides the order of the trials, and which pairs there are")
	faultsLanes  = flag.Int("faults.lanes", 10, "how many trials are made at once, as long as -test.parallel is twice that")
	faultsFor    = flag.Duration("faults.for", 0, "no trial begins after so long; 0 for no limit")
	faultsLoad   = flag.Float64("faults.load", 0, "no trial begins while the machine's load is above it; 0 for no limit")
	faultsOnly   = flag.String("faults.only", "", "a substring of the trials to make, however often they were made")
)

// hit is a fault at one request of a scene.
type hit struct {
	Fault string // the name of a faultClass
	At    int    // from 1
}

func (h hit) String() string { return fmt.Sprintf("%s at %d", h.Fault, h.At) }

// trial is a scene with one or two faults, and what came of it.
type trial struct {
	Scene string
	Hits  []hit
	// Struck is how many of the faults happened: a run may have fewer requests than the one without faults.
	Struck int
	// Request is what the first fault happened to in the run without faults.
	Request string
	Broken  []string // the promises that did not hold
	begun   bool     // its stage was made
}

func (x trial) name() string {
	var hits []string
	for _, h := range x.Hits {
		hits = append(hits, h.String())
	}
	return x.Scene + ": " + strings.Join(hits, ", ")
}

// trialOf is the trial of that name.
func trialOf(t *testing.T, name string) trial {
	t.Helper()
	of, hits, _ := strings.Cut(name, ": ")
	x := trial{Scene: of}
	for h := range strings.SplitSeq(hits, ", ") {
		i := strings.LastIndex(h, " at ")
		if i < 0 {
			t.Fatalf("%q names no trial", name)
		}
		x.Hits = append(x.Hits, hit{h[:i], number(t, h[i+len(" at "):])})
	}
	return x
}

// shortFaults are few trials of each class, over all scenes.
const shortFaults = 1

// TestFaultsChangeNothingInTheEnd makes a trial of each class of faults.
func TestFaultsChangeNothingInTheEnd(t *testing.T) {
	t.Parallel()
	l := newLaboratory(t, scenesWithFaults)
	l.run(t, l.perClass(shortFaults))
}

// TestLongFaults is `make faults`: it makes trials, those that were made least often first, and writes the page.
func TestLongFaults(t *testing.T) {
	t.Parallel()
	l := newLaboratory(t, append(slices.Clone(scenesWithFaults), restore))
	l.ledger = readLedger(t, *faultsLedger, *faultsCommit, strconv.FormatUint(*faultsSeed, 10), time.Now().UTC().Format(time.DateOnly))
	l.ledger.to = *faultsPage
	trials := l.singles()
	trials = append(trials, l.pairs(len(trials)/15)...)
	l.rand.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	trials = slices.DeleteFunc(trials, func(x trial) bool { return !strings.Contains(x.name(), *faultsOnly) })
	if len(trials) == 0 {
		trials = []trial{trialOf(t, *faultsOnly)}
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return l.ledger.times(a) - l.ledger.times(b) })
	trials = pairsFirst(trials, promisedPairs-l.ledger.pairs())
	t.Run("trials", func(t *testing.T) { l.run(t, trials[:min(len(trials), *faultsMany)]) })
}

// promisedPairs is how many trials with two faults there are to be before more of them come as often as others.
const promisedPairs = 500

// pairsFirst moves the first n trials with two faults to the front.
func pairsFirst(trials []trial, n int) []trial {
	var first, others []trial
	for _, x := range trials {
		if len(x.Hits) > 1 && len(first) < n {
			first = append(first, x)
		} else {
			others = append(others, x)
		}
	}
	return append(first, others...)
}

// laboratory makes trials.
type laboratory struct {
	cluster *kubetest.Cluster
	another *kubetest.Cluster // of the scenes that restart it; nil where there is none
	binary  string
	began   time.Time
	rand    *rand.Rand
	scenes  map[string]scene
	whole   map[string]outcome // of each scene without a fault
	mu      sync.Mutex
	ledger  *ledger // of what `make faults` has made; nil for none
}

// crdsOfScenes are of the custom resources that scenes use. Truce watches every kind that it finds, in every namespace that it works for: with those of
// all kinds, a third of the requests of a trial are lists and watches of what no scene has.
var crdsOfScenes = []string{"crds/applications.yaml", "crds/gitrepositories.yaml", "crds/kustomizations.yaml"}

// newLaboratory plays each scene once without a fault.
func newLaboratory(t *testing.T, all []scene) *laboratory {
	t.Helper()
	c := kubetest.Start(t)
	installSomeCRDs(t, c, crdsOfScenes)
	l := &laboratory{
		cluster: c, binary: buildTruce(t), began: time.Now(), rand: rand.New(rand.NewPCG(*faultsSeed, 0)),
		scenes: map[string]scene{}, whole: map[string]outcome{},
	}
	defer l.logRequests(t)
	only, _, named := strings.Cut(*faultsOnly, ": ")
	for _, x := range all {
		if named && !strings.HasSuffix(x.name, only) {
			continue
		}
		if x.elected && os.Getenv(accountVariable) != "" {
			continue // the installed roles let truce have a Lease in its own namespace alone, and these have it in that of the trial
		}
		if x.load == 0 { // nothing looks at its pods
			x.files = strings.Replace(x.files, "  replicas: 3\n", "  replicas: 3\n  paused: true\n", 1)
		}
		l.scenes[x.name] = x
		if x.alone && l.another == nil {
			l.another = kubetest.Another(t)
			installSomeCRDs(t, l.another, crdsOfScenes)
		}
	}
	t.Run("no fault", l.playEach)
	if t.Failed() {
		t.FailNow()
	}
	return l
}

// playEach plays each scene without a fault.
func (l *laboratory) playEach(t *testing.T) {
	for _, alone := range []bool{false, true} {
		queue := queueOf(slices.Collect(maps.Values(l.scenes)), func(x scene) bool { return x.alone == alone })
		if len(queue) == 0 {
			continue
		}
		l.lanes(t, alone, func(t *testing.T, lane *lane) {
			for x := range queue {
				t.Run(x.name, func(t *testing.T) {
					s := lane.stage(t, x, false)
					l.keep(x, s.ns, x.play(s))
				})
			}
		})
	}
}

func (l *laboratory) logRequests(t *testing.T) {
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(l.whole)) {
		t.Logf("%s: %d requests", name, len(l.whole[name].requests))
		sum += len(l.whole[name].requests)
	}
	t.Logf("%d requests, %d single faults", sum, sum*len(faultClasses))
}

// keep keeps what a scene without a fault looked like, in a namespace.
func (l *laboratory) keep(x scene, namespace string, o outcome) {
	for i, r := range o.requests {
		o.requests[i] = strings.ReplaceAll(r, namespace, "NAMESPACE")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole[x.name] = o
}

// scenesWithFaults are the scenes of all trials but those with an API server of their own.
var scenesWithFaults = slices.Concat(scenes, passages, changes, []scene{start, restart, move})

// start is the start of a truce that finds an app of which nothing is there.
var start = scene{
	name: "rollout by a truce that starts", files: shop, starts: true, objects: whole, floor: 3,
	trigger: func(s *stage) { s.app(""); s.begin() },
}

// restart is the start of a truce that finds all as it should be.
var restart = scene{
	name: "restart", files: shop, live: true, starts: true, objects: whole, floor: 3,
	setup:   func(s *stage) { s.end() },
	trigger: func(s *stage) { s.begin() },
}

// move is a commit that names an object in another app's directory: it is handed over, and neither deleted nor made again.
var move = scene{
	name: "move to another app", live: true, floor: 3,
	files: shop + `
-- other/kustomization.yaml --
namespace: NAMESPACE
resources: [c.yaml]
-- other/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {colour: grey}
`,
	objects: []string{"ConfigMap/a", "ConfigMap/b", "ConfigMap/c", "Deployment/web", "Service/web"},
	setup: func(s *stage) {
		s.named("other", "./other", "")
		s.ready("other")
	},
	trigger: func(s *stage) {
		s.repo.Commit(map[string]string{
			"app/kustomization.yaml":   "namespace: " + s.ns + "\nresources: [web.yaml, service.yaml, a.yaml]\n",
			"other/kustomization.yaml": "namespace: " + s.ns + "\nresources: [c.yaml, b.yaml]\n",
			"other/b.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {colour: red}\n",
		}, "b moves")
		s.look()
	},
}

// singles are a trial for each class at each request of each scene.
func (l *laboratory) singles() []trial {
	var out []trial
	for _, name := range slices.Sorted(maps.Keys(l.whole)) {
		for i, request := range l.whole[name].requests {
			for _, c := range faultClasses {
				out = append(out, trial{Scene: name, Hits: []hit{{c.name, i + 1}}, Request: request})
			}
		}
	}
	return out
}

// perClass are n trials of each class, each in the scene that comes next.
func (l *laboratory) perClass(n int) []trial {
	names := slices.Sorted(maps.Keys(l.whole))
	var out []trial
	for i, c := range faultClasses {
		for j := range n {
			name := names[(i*n+j)%len(names)]
			requests := l.whole[name].requests
			at := l.rand.IntN(len(requests))
			out = append(out, trial{Scene: name, Hits: []hit{{c.name, at + 1}}, Request: requests[at]})
		}
	}
	return out
}

// pairs are n trials with two faults.
func (l *laboratory) pairs(n int) []trial {
	names := slices.Sorted(maps.Keys(l.whole))
	var out []trial
	for range n {
		name := names[l.rand.IntN(len(names))]
		requests := l.whole[name].requests
		first := l.rand.IntN(len(requests))
		second := first + 1 + l.rand.IntN(10)
		a, b := faultClasses[l.rand.IntN(len(faultClasses))], faultClasses[l.rand.IntN(len(faultClasses))]
		if a.kills() && b.kills() {
			continue // TestLongACrashAtEveryRequest has them
		}
		out = append(out, trial{Scene: name, Hits: []hit{{a.name, first + 1}, {b.name, second + 1}}, Request: requests[first]})
	}
	return out
}

// kills reports whether truce has to be started again on the way.
func (x trial) kills() bool {
	return slices.ContainsFunc(x.Hits, func(h hit) bool { return classOf(h.Fault).kills() })
}

func classOf(fault string) faultClass {
	i := slices.IndexFunc(faultClasses, func(c faultClass) bool { return c.name == fault })
	return faultClasses[i]
}

// make plays the scene with the faults.
func (x *trial) make(s *stage, of scene, whole outcome) {
	s.t.Helper()
	from := of.prepare(s)
	at, kills := map[int]fault{}, x.kills() && !of.elected // one of a pair is started again at once
	for _, h := range x.Hits {
		at[h.At] = classOf(h.Fault).on(s)
	}
	x.begun = true
	s.toll.arm(at)
	of.trigger(s)
	if kills {
		s.crashed()
		s.toll.spare()
	}
	if of.meanwhile != nil {
		of.meanwhile(s)
		if !kills {
			s.look()
		}
	}
	if kills {
		s.begin()
	}
	x.judge(s, of, whole, from)
}
