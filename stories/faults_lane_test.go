package stories

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// stagesPerTruce is how many trials one truce serves, each in a namespace of its own.
const stagesPerTruce = 16

var (
	autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
)

// lane makes trials one after the other. Those that neither begin with a start of truce nor kill it share one truce that runs already: its
// start is a fifth of what a trial costs. What a trial leaves behind stays, until the API server ends: to remove it costs more than to make it.
type lane struct {
	*laboratory
	t       *testing.T
	cluster *kubetest.Cluster
	client  dynamic.Interface
	host    *host    // of the truce that several trials share; nil for none
	free    []string // its namespaces that no trial has used
}

// stage makes a stage for a trial of a scene.
func (l *lane) stage(t *testing.T, of scene, kills bool) *stage {
	t.Helper()
	shared := !of.starts && !kills && !of.elected
	h := l.host
	switch {
	case !shared:
		h = newHost(t, l.cluster, l.binary, l.namespace(t))
	case h == nil || len(l.free) == 0:
		l.end()
		l.free = nil
		for range stagesPerTruce {
			l.free = append(l.free, l.namespace(t))
		}
		h = newHost(l.t, l.cluster, l.binary, l.free...)
		l.host = h
	}
	ns := h.namespaces[0]
	if shared {
		ns, l.free = l.free[0], l.free[1:]
	}
	h.toll.forget()
	s := h.stage(t, l.cluster, ns, of.files)
	if of.load > 0 {
		s.until("the account of its pods", func() bool { return s.isThere(serviceAccounts, "default") })
	}
	if of.elected {
		s.pair = newPair(s)
	}
	if !of.starts {
		s.start()
		s.quiet()
		s.toll.forget()
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.confess()
		}
		s.toll.disarm()
		s.toll.mend()
		s.suspend()
		if s.pair != nil {
			s.pair.dismiss()
		}
		if running := s.truce.Load().running(); running && shared {
			s.quiet() // it has seen that it is to do no more
		} else if running {
			s.end()
		}
		s.forsake()
		if shared && t.Failed() {
			l.host = nil // its truce has ended
		}
	})
	return s
}

// namespace makes a namespace that lasts as long as the API server.
func (l *lane) namespace(t *testing.T) string {
	t.Helper()
	made, err := l.client.Resource(namespaces).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "trial-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetName()
}

// end ends the truce that trials shared.
func (l *lane) end() {
	l.t.Helper()
	h := l.host
	if l.host = nil; h == nil || !h.truce.Load().running() {
		return
	}
	s := &stage{world: &world{t: l.t, ctx: l.t.Context()}, host: h, truce: &h.truce}
	s.end()
}

// suspend ends truce's work for the stage's apps.
func (s *stage) suspend() {
	s.t.Helper()
	observed := `"metadata":{"annotations":{"truce.dev/mode":"observe"}}` // an adopted Kustomization is suspended for Flux alone
	for name, kind := range map[string]schema.GroupVersionResource{"web": s.kind(), "other": kustomizations} {
		patch := "{" + observed + "}"
		if kind == kustomizations {
			patch = "{" + observed + `,"spec":{"suspend":true}}`
		}
		_, err := s.client.Resource(kind).Namespace(s.ns).Patch(s.ctx, name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Errorf("suspend %s: %v", name, err)
		}
	}
}

// kind is that of the app "web".
func (s *stage) kind() schema.GroupVersionResource {
	if s.other.kind == applications {
		return applications
	}
	return kustomizations
}

// forsake ends what would go on in the namespace without truce.
func (s *stage) forsake() {
	s.t.Helper()
	ctx := s.ctx
	for _, kind := range []schema.GroupVersionResource{gitRepositories, autoscalers} {
		if err := s.client.Resource(kind).Namespace(s.ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			s.t.Errorf("delete %s: %v", kind.Resource, err)
		}
	}
}

// lanes calls do for each lane of those that share the API server, or for the one with a server of its own, and waits for none.
func (l *laboratory) lanes(t *testing.T, alone bool, do func(*testing.T, *lane)) {
	n, c := *faultsLanes, l.cluster
	if alone {
		n, c = 1, l.another
	}
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		t.Run("lane", func(t *testing.T) {
			t.Parallel()
			lane := &lane{laboratory: l, t: t, cluster: c, client: client}
			do(t, lane)
			lane.end()
		})
	}
}

// queueOf returns those of some work that are wanted, for lanes to take.
func queueOf[T any](all []T, wanted func(T) bool) <-chan T {
	queue := make(chan T, len(all))
	for _, x := range all {
		if wanted(x) {
			queue <- x
		}
	}
	close(queue)
	return queue
}

// run makes trials on several lanes at once.
func (l *laboratory) run(t *testing.T, trials []trial) {
	for _, alone := range []bool{false, true} {
		queue := queueOf(trials, func(x trial) bool { return l.scenes[x.Scene].alone == alone })
		if len(queue) == 0 {
			continue
		}
		l.lanes(t, alone, func(t *testing.T, lane *lane) {
			for x := range queue {
				if l.awaitProcessor(t); l.late() {
					return
				}
				if begun := lane.try(t, &x); !begun && alone {
					return // its server may be gone
				}
			}
		})
	}
}

// late reports whether the time for trials is over.
func (l *laboratory) late() bool { return *faultsFor > 0 && time.Since(l.began) > *faultsFor }

// awaitProcessor waits while the machine has too much to do: a truce that gets no processor for minutes breaks promises of any kind.
func (l *laboratory) awaitProcessor(t *testing.T) {
	t.Helper()
	for *faultsLoad > 0 && !l.late() && loadOf(t) > *faultsLoad {
		kubetest.Span(t.Context(), 5*time.Second)
	}
}

// loadOf is the machine's load in the last minute.
func loadOf(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return load
}

// try makes a trial, and writes it down after all that it cleans up. One whose stage could not be made is none: nothing was tried, and the test fails.
func (l *lane) try(t *testing.T, x *trial) (begun bool) {
	t.Run(x.name(), func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() && len(x.Broken) == 0 {
				x.Broken = []string{endState}
			}
			if l.ledger != nil && x.begun {
				l.ledger.add(t, *x)
			}
		})
		x.make(l.stage(t, l.scenes[x.Scene], x.kills()), l.scenes[x.Scene], l.whole[x.Scene])
	})
	return x.begun
}
