package stories

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

var (
	faultsMany = flag.Int("faults", 40, "how many trials `make faults` makes that its file has not")
	faultsFile = flag.String("faults.file", "", "JSON lines of trials: those in it are not made again, new ones are added; empty for none")
	faultsPage = flag.String("faults.page", "", "the page to write from the file; empty for none")
	faultsSeed = flag.Uint64("faults.seed", 1, "decides the order of the trials, and which pairs there are")
	faultsOnly = flag.String("faults.only", "", "a substring of the trials to make, also of those in the file")
)

// hit is a fault at one request of a scene.
type hit struct {
	Fault string `json:"fault"` // the name of a faultClass
	At    int    `json:"at"`    // from 1
}

func (h hit) String() string { return fmt.Sprintf("%s at %d", h.Fault, h.At) }

// trial is a scene with one or two faults, and what came of it.
type trial struct {
	Scene string `json:"scene"`
	Hits  []hit  `json:"hits"`
	// Struck is how many of the faults happened: a run may have fewer requests than the one without faults.
	Struck int `json:"struck"`
	// Request is what the first fault happened to in the run without faults.
	Request string   `json:"request"`
	Broken  []string `json:"broken,omitempty"` // the promises that did not hold
	Seconds float64  `json:"seconds"`
}

func (x trial) name() string {
	var hits []string
	for _, h := range x.Hits {
		hits = append(hits, h.String())
	}
	return x.Scene + ": " + strings.Join(hits, ", ")
}

// shortFaults are few trials of each class, over all scenes.
const shortFaults = 1

// TestFaultsChangeNothingInTheEnd makes a trial of each class of faults.
func TestFaultsChangeNothingInTheEnd(t *testing.T) {
	t.Parallel()
	l := newLaboratory(t)
	l.run(t, l.perClass(shortFaults))
}

// TestLongFaults is `make faults`: it makes trials that its file has not, and writes the page.
func TestLongFaults(t *testing.T) {
	t.Parallel()
	l := newLaboratory(t)
	l.read(t)
	trials := l.singles()
	trials = append(trials, l.pairs(len(trials)/15)...)
	l.rand.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	var next []trial
	for _, x := range trials {
		_, done := l.done[x.name()]
		wanted := !done && *faultsOnly == "" || *faultsOnly != "" && strings.Contains(x.name(), *faultsOnly)
		if wanted && len(next) < *faultsMany {
			next = append(next, x)
		}
	}
	t.Run("trials", func(t *testing.T) { l.run(t, next) })
	l.write(t)
}

// laboratory makes trials.
type laboratory struct {
	cluster *kubetest.Cluster
	binary  string
	rand    *rand.Rand
	scenes  map[string]scene
	whole   map[string]outcome // of each scene without a fault
	mu      sync.Mutex
	done    map[string]trial
}

// newLaboratory plays each scene once without a fault.
func newLaboratory(t *testing.T) *laboratory {
	t.Helper()
	c := kubetest.Start(t)
	installCRDs(t, c)
	l := &laboratory{
		cluster: c, binary: buildTruce(t), rand: rand.New(rand.NewPCG(*faultsSeed, 0)),
		scenes: map[string]scene{}, whole: map[string]outcome{}, done: map[string]trial{},
	}
	t.Run("no fault", func(t *testing.T) {
		for _, x := range slices.Concat(scenes, passages, []scene{restart, move}) {
			l.scenes[x.name] = x
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				o := x.play(newStage(t, c, l.binary, x.files))
				l.mu.Lock()
				defer l.mu.Unlock()
				l.whole[x.name] = o
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return l
}

// restart is the start of a truce that finds all as it should be.
var restart = scene{
	name: "restart", files: shop, live: true, objects: whole, floor: 3,
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

func (l *laboratory) run(t *testing.T, trials []trial) {
	for _, x := range trials {
		t.Run(x.name(), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			t.Cleanup(func() { // after all that the trial cleans up
				if t.Failed() && len(x.Broken) == 0 {
					x.Broken = []string{endState}
				}
				x.Seconds = time.Since(begin).Round(time.Millisecond).Seconds()
				l.add(t, x)
			})
			x.make(newStage(t, l.cluster, l.binary, l.scenes[x.Scene].files), l.scenes[x.Scene], l.whole[x.Scene])
		})
	}
}

// make plays the scene with the faults.
func (x *trial) make(s *stage, of scene, whole outcome) {
	s.t.Helper()
	from := of.prepare(s)
	at, kills := map[int]fault{}, false
	for _, h := range x.Hits {
		i := slices.IndexFunc(faultClasses, func(c faultClass) bool { return c.name == h.Fault })
		at[h.At], kills = faultClasses[i].on(s), kills || faultClasses[i].kills()
	}
	s.toll.arm(at)
	of.trigger(s)
	if kills {
		s.crashed()
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

func (l *laboratory) read(t *testing.T) {
	t.Helper()
	if *faultsFile == "" {
		return
	}
	f, err := os.Open(*faultsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var x trial
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatalf("%s: %v", *faultsFile, err)
		}
		l.done[x.name()] = x
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// add writes down a trial as soon as it is over: a run may be ended at any time.
func (l *laboratory) add(t *testing.T, x trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[x.name()] = x
	if *faultsFile == "" {
		return
	}
	text, err := json.Marshal(x)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(*faultsFile), 0o755)
	}
	if err != nil {
		t.Error(err)
		return
	}
	f, err := os.OpenFile(*faultsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := f.Write(append(text, '\n')); err != nil {
		t.Error(err)
	}
}
