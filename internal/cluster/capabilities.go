package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// offer is what an API server has answered. It is not changed.
type offer struct {
	capabilities.Set
	kinds map[string][]string // APIVERSION/KIND, of each apiVersion that answers, or has before
}

// offers remembers the newest answer: the apps of a cluster ask for the same.
type offers struct {
	clock  clock.PassiveClock
	asking singleflight.Group // by era

	mu    sync.Mutex
	known offer
	at    time.Time // of the answer; zero for none that holds
	era   int       // begins when what is served has changed: an answer to a question from before is not remembered
}

// Capabilities returns what the templates of charts see of the API server (Helm's .Capabilities); the caller must not change it. An aggregated API that does
// not answer has the kinds that it had when it last did. An answer holds for a second, as that of discovery does, and ends with Invalidate and InvalidateGroup.
func (c *Client) Capabilities(ctx context.Context) (capabilities.Set, error) {
	k := &c.kinds.all
	known, era, holds := k.now()
	if holds {
		return known.Set, nil
	}
	answer := k.asking.DoChan(strconv.Itoa(era), func() (any, error) {
		got, err := c.askOffer(context.WithoutCancel(ctx), known.kinds) // others wait for it, too
		if err == nil {
			k.keep(got, era)
		}
		return got, err
	})
	select {
	case <-ctx.Done():
		return capabilities.Set{}, fmt.Errorf("discover: %w", ctx.Err())
	case r := <-answer:
		got, _ := r.Val.(offer)
		return got.Set, r.Err
	}
}

func (k *offers) now() (known offer, era int, holds bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known, k.era, !k.at.IsZero() && k.clock.Since(k.at) < askAgain
}

func (k *offers) keep(o offer, era int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era == k.era {
		k.known, k.at = o, k.clock.Now()
	}
}

// forget begins another era.
func (k *offers) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.era = time.Time{}, k.era+1
}

// askOffer asks the server. Known are the kinds that it had before.
func (c *Client) askOffer(ctx context.Context, known map[string][]string) (offer, error) {
	version, err := c.Version(ctx)
	if err != nil {
		return offer{}, err
	}
	found, err := c.discover(ctx)
	if err != nil {
		return offer{}, err
	}
	out := offer{kinds: map[string][]string{}}
	for _, at := range found.answered {
		out.kinds[at] = nil
	}
	for _, k := range found.kinds {
		at := k.GVK.APIVersion()
		out.kinds[at] = append(out.kinds[at], at+"/"+k.GVK.Kind)
	}
	for _, at := range found.unanswered {
		if before, ok := known[at]; ok {
			out.kinds[at] = before
		} else {
			out.Unanswered = append(out.Unanswered, at)
		}
	}
	out.KubeVersion, out.APIVersions = version, namesIn(out.kinds)
	return out, nil
}

// namesIn lists the apiVersions that have kinds, and the kinds, sorted and each once.
func namesIn(kinds map[string][]string) []string {
	var out []string
	for at, all := range kinds {
		if len(all) > 0 {
			out = append(append(out, at), all...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
