package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
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
				if got, err := c.Capabilities(t.Context()); err != nil || got.KubeVersion == "" || !slices.Contains(got.APIVersions, "apps/v1/Deployment") || !slices.Contains(got.APIVersions, "apps/v1") {
					t.Errorf("capabilities are %v, %v", got, err)
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
	if got, err := as.Capabilities(t.Context()); err != nil || !slices.Contains(got.APIVersions, "capable.example.org/v1/Gadget") {
		t.Errorf("a kind that was defined is not there: %v", err)
	}
	now.SetTime(now.Now().Add(askAgain))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Capabilities(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("one that does not wait has %v", err)
	}
}

// TestAnAnswerFromBeforeAChangeIsNotRemembered: what was asked before a CRD changed may lack it.
func TestAnAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	k := offers{clock: testclock.NewFakePassiveClock(time.Now())}
	_, era, _ := k.now()
	k.forget()
	k.keep(offer{Set: capabilities.Set{KubeVersion: "v1"}}, era)
	if _, _, holds := k.now(); holds {
		t.Error("it is remembered")
	}
	_, era, _ = k.now()
	k.keep(offer{Set: capabilities.Set{KubeVersion: "v2"}}, era)
	if got, _, holds := k.now(); !holds || got.KubeVersion != "v2" {
		t.Errorf("got %v, %t", got, holds)
	}
}

// unavailable is an aggregated API whose server does not run.
const unavailable = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.unavailable.example.org}
spec: {group: unavailable.example.org, version: v1, groupPriorityMinimum: 100, versionPriority: 10, service: {name: nobody, namespace: default}}
`

// TestAnAggregatedAPIThatDoesNotAnswerKeepsItsKinds: that its server restarts takes no kind away. Without an answer from before its kinds are not known.
func TestAnAggregatedAPIThatDoesNotAnswerKeepsItsKinds(t *testing.T) {
	const version, kind = "unavailable.example.org/v1", "unavailable.example.org/v1/Gauge"
	k := kubetest.Start(t)
	k.Apply(t, unavailable)
	defer k.Kubectl(t, "delete", "apiservice", "v1.unavailable.example.org")
	var answers atomic.Bool
	config := k.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			r, err := next.RoundTrip(q)
			if err == nil && q.URL.Path == "/apis" && answers.Load() {
				r.Body = withGauges(t, r.Body)
				r.ContentLength = -1
			}
			return r, err
		})
	})
	c, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	asked := func() capabilities.Set {
		t.Helper()
		c.InvalidateGroup("unavailable.example.org")
		got, err := c.Capabilities(t.Context())
		if err != nil || !slices.Contains(got.APIVersions, "apps/v1/Deployment") {
			t.Fatal(got, err)
		}
		return got
	}
	deadline := time.Now().Add(time.Minute)
	for got := asked(); !slices.Contains(got.Unanswered, version); got = asked() { // until the aggregator has taken it
		if time.Now().After(deadline) {
			t.Fatal("a group that does not answer is taken for one that is not served")
		}
	}
	for _, word := range []string{"gauge", "gauges.unavailable.example.org"} {
		if _, err := c.Find(t.Context(), word); err == nil || errors.Is(err, live.ErrUnknownKind) {
			t.Errorf("%s, which may be served: %v", word, err)
		}
	}
	if _, err := c.Find(t.Context(), "gauges.other.example.org"); !errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("a kind of another group: %v", err)
	}
	for _, does := range []bool{true, false} {
		answers.Store(does)
		if got := asked(); !slices.Contains(got.APIVersions, version) || !slices.Contains(got.APIVersions, kind) || len(got.Unanswered) > 0 {
			t.Errorf("the API answers: %t; got %q, without an answer %q", does, got.APIVersions, got.Unanswered)
		}
	}
}

// withGauges returns a server's aggregated discovery with an answer of the API that has none.
func withGauges(t *testing.T, body io.ReadCloser) io.ReadCloser {
	t.Helper()
	defer body.Close()
	var all map[string]any
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		t.Error(err)
	}
	groups, _ := all["items"].([]any)
	for _, g := range groups {
		group := object.Object(g.(map[string]any))
		if group.Name() == "unavailable.example.org" {
			group["versions"] = []any{map[string]any{"version": "v1", "freshness": "Current", "resources": []any{map[string]any{
				"resource": "gauges", "singularResource": "gauge", "scope": "Namespaced", "verbs": []any{"get"},
				"responseKind": map[string]any{"group": "unavailable.example.org", "version": "v1", "kind": "Gauge"},
			}}}}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Error(err)
	}
	return io.NopCloser(bytes.NewReader(text))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }
