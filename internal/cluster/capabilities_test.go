package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.capable.example.org}
spec:
  group: capable.example.org
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// TestWhatTheServerServesIsAskedOnceASecond: many ask at once and share an answer, which holds for a second, and not when a CRD has changed.
func TestWhatTheServerServesIsAskedOnceASecond(t *testing.T) {
	k := kubetest.Start(t)
	var asked atomic.Int32
	config := k.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			asked.Add(1)
			return next.RoundTrip(q)
		})
	})
	c, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	now := testclock.NewFakePassiveClock(time.Now())
	c.kinds.all.clock = now
	as, err := c.As("system:admin", []string{"system:masters"})
	if err != nil {
		t.Fatal(err)
	}
	requests := func(of ...*Client) int32 {
		t.Helper()
		before := asked.Load()
		var all sync.WaitGroup
		for _, c := range of {
			all.Go(func() {
				if version, served, err := c.Capabilities(t.Context()); err != nil || version == "" || !slices.Contains(served, "apps/v1/Deployment") || !slices.Contains(served, "apps/v1") {
					t.Errorf("capabilities are %s, %v, %v", version, served, err)
				}
			})
		}
		all.Wait()
		return asked.Load() - before
	}
	const whole = 3                                      // the version, /api and /apis
	if got := requests(c, c, as, as, c); got > 2*whole { // one that asks when the first is answered may ask again
		t.Errorf("five that ask at once make %d requests", got)
	}
	if got := requests(c, as); got != 0 {
		t.Errorf("%d requests while the answer holds", got)
	}
	now.SetTime(now.Now().Add(askAgain))
	if got := requests(c); got != whole {
		t.Errorf("%d requests after a second", got)
	}

	k.Apply(t, gadgets)
	k.Established(t, "gadgets.capable.example.org")
	c.InvalidateGroup("capable.example.org")
	if _, served, err := as.Capabilities(t.Context()); err != nil || !slices.Contains(served, "capable.example.org/v1/Gadget") {
		t.Errorf("a kind that was defined is not there: %v", err)
	}
	now.SetTime(now.Now().Add(askAgain))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Capabilities(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("one that does not wait has %v", err)
	}
}

// TestAnAnswerFromBeforeAChangeIsNotRemembered: what was asked before a CRD changed may lack it.
func TestAnAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	k := capabilities{clock: testclock.NewFakePassiveClock(time.Now())}
	_, era, _ := k.now()
	k.forget()
	k.keep(offer{version: "v1"}, era)
	if _, _, holds := k.now(); holds {
		t.Error("it is remembered")
	}
	_, era, _ = k.now()
	k.keep(offer{version: "v2"}, era)
	if got, _, holds := k.now(); !holds || got.version != "v2" {
		t.Errorf("got %v, %t", got, holds)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }
