package cluster_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/client-go/rest"
)

// tap sees a client's requests, and may change them.
type tap struct {
	next    http.RoundTripper
	see     func(*http.Request) error
	counted atomic.Int64
}

func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	p.counted.Add(1)
	if err := p.see(r); err != nil {
		return nil, err
	}
	return p.next.RoundTrip(r)
}

// tapped is a client of the server whose requests go through a tap.
func tapped(t *testing.T, see func(*http.Request) error) (*cluster.Client, *tap) {
	t.Helper()
	config, p := kubetest.Start(t).Config(), &tap{see: see}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { p.next = next; return p })
	c, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// many are kinds of which the server serves the first two.
var many = []object.GVK{
	deployments, {Version: "v1", Kind: "Secret"},
	{Group: "a.example.org", Version: "v1", Kind: "A"}, {Group: "b.example.org", Version: "v1", Kind: "B"}, {Group: "apps", Version: "v9", Kind: "X"},
	{Group: "../x", Version: "v1", Kind: "X"},
}

// servedResources asks where each of many is served, and fails where that is not as it should be.
func servedResources(t *testing.T, c *cluster.Client) {
	t.Helper()
	for n, gvk := range many {
		if r, err := c.Resource(gvk); n < 2 && (err != nil || !r.Namespaced) || n >= 2 && !errors.Is(err, live.ErrUnknownKind) {
			t.Errorf("%s: %+v, %v", gvk, r, err)
		}
	}
}

func TestManyKindsAreLearntInTwoRequests(t *testing.T) {
	t.Parallel()
	c, p := tapped(t, func(*http.Request) error { return nil })
	c.Learn(many)
	servedResources(t, c)
	if n := p.counted.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	c.Learn(many)
	if n := p.counted.Load(); n != 2 {
		t.Errorf("what is known was asked for again: %d requests", n)
	}
	c.Learn([]object.GVK{{Group: "c.example.org", Version: "v1", Kind: "C"}, {Group: "d.example.org", Version: "v1", Kind: "D"}})
	if n := p.counted.Load(); n != 2 {
		t.Errorf("the whole server was asked for two kinds: %d requests", n)
	}
}

func TestAServerThatCannotTellOfAllAtOnceIsAskedOneByOne(t *testing.T) {
	t.Parallel()
	c, p := tapped(t, func(r *http.Request) error {
		r.Header.Set("Accept", "application/json") // as servers before 1.26 understand it
		return nil
	})
	c.Learn(many)
	servedResources(t, c)
	if n := p.counted.Load(); n < 7 {
		t.Errorf("%d requests: the server seems to have told of all at once", n)
	}
}

func TestWhatCannotBeLearntIsAnErrorAndNotUnknown(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	c, _ := tapped(t, func(r *http.Request) error {
		if strings.Count(r.URL.Path, "/") == 1 {
			return cut
		}
		return nil
	})
	c.Learn(many)
	if _, err := c.Resource(many[2]); !errors.Is(err, cut) || errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("got %v", err)
	}
	c.Invalidate("a.example.org/v1")
	if _, err := c.Resource(many[2]); !errors.Is(err, live.ErrUnknownKind) {
		t.Errorf("asked by itself: %v", err)
	}
}

func TestWhatIsInvalidatedWhileTheServerAnswersIsAskedForAgain(t *testing.T) {
	t.Parallel()
	var c *cluster.Client
	c, p := tapped(t, func(r *http.Request) error {
		if r.URL.Path == "/apis" {
			c.InvalidateGroup("apps")
		}
		return nil
	})
	c.Learn(many)
	servedResources(t, c)
	if n := p.counted.Load(); n != 4 {
		t.Errorf("%d requests, want two for all, and one for each version of the group that was invalidated", n)
	}
}

func TestAStaleGroupIsAskedForByItself(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t)
	k.Apply(t, strings.ReplaceAll(brokenAPI, "broken.", "stale."))
	defer k.Kubectl(t, "delete", "apiservice", "v1.stale.example.org")
	asked := func(c *cluster.Client) error {
		kinds := append([]object.GVK{{Group: "stale.example.org", Version: "v1", Kind: "X"}}, many...)
		c.Learn(kinds)
		_, err := c.Resource(kinds[0])
		return err
	}
	for { // until the aggregator has taken it
		c, err := cluster.NewClient(rest.CopyConfig(k.Config()))
		if err != nil {
			t.Fatal(err)
		}
		if err := asked(c); err != nil && !errors.Is(err, live.ErrUnknownKind) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("a broken group is taken for one that is not served")
		}
	}
}

func TestAKnownKindWaitsForNoQuestion(t *testing.T) {
	t.Parallel()
	release, asked := make(chan struct{}), make(chan struct{}, 1)
	var known atomic.Bool
	c, _ := tapped(t, func(r *http.Request) error {
		if known.Load() && strings.HasSuffix(r.URL.Path, "/apis/apps/v1") {
			asked <- struct{}{}
			<-release
		}
		return nil
	})
	if _, err := c.Resource(deployments); err != nil {
		t.Fatal(err)
	}
	known.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond) // a kind that is not served is asked for again after a second
		defer tick.Stop()
		for {
			select {
			case <-release:
				return
			case <-tick.C:
				_, _ = c.Resource(object.GVK{Group: "apps", Version: "v1", Kind: "Unknown"}) // what it answers is not what this is about
			}
		}
	}()
	<-asked
	if r, err := c.Resource(deployments); err != nil || !r.Namespaced { // returns, though the server has not answered
		t.Errorf("%+v, %v", r, err)
	}
	close(release)
	<-ended
}
