package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// offer is what an API server says of itself. It is not changed.
type offer struct {
	version string   // such as v1.34.2
	served  []string // each apiVersion, and each APIVERSION/KIND; sorted
}

// capabilities remembers the newest answer: the apps of a cluster ask for the same.
type capabilities struct {
	clock  clock.PassiveClock
	asking singleflight.Group // by era

	mu    sync.Mutex
	known offer
	at    time.Time // of the answer; zero for none that holds
	era   int       // begins when what is served has changed: an answer to a question from before is not remembered
}

// Capabilities returns what the templates of charts see of the API server (Helm's .Capabilities): its version, such as v1.34.2, and, sorted, each apiVersion
// and each APIVERSION/KIND that it serves, which the caller must not change. An answer holds for a second, as that of discovery does, and ends
// with Invalidate and InvalidateGroup.
func (c *Client) Capabilities(ctx context.Context) (version string, served []string, err error) {
	k := &c.kinds.all
	known, era, holds := k.now()
	if holds {
		return known.version, known.served, nil
	}
	answer := k.asking.DoChan(strconv.Itoa(era), func() (any, error) {
		got, err := c.askOffer(context.WithoutCancel(ctx)) // others wait for it, too
		if err == nil {
			k.keep(got, era)
		}
		return got, err
	})
	select {
	case <-ctx.Done():
		return "", nil, fmt.Errorf("discover: %w", ctx.Err())
	case r := <-answer:
		got, _ := r.Val.(offer)
		return got.version, got.served, r.Err
	}
}

func (k *capabilities) now() (known offer, era int, holds bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known, k.era, !k.at.IsZero() && k.clock.Since(k.at) < askAgain
}

func (k *capabilities) keep(o offer, era int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era == k.era {
		k.known, k.at = o, k.clock.Now()
	}
}

// forget begins another era.
func (k *capabilities) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.era = time.Time{}, k.era+1
}

func (c *Client) askOffer(ctx context.Context) (offer, error) {
	version, err := c.Version(ctx)
	if err != nil {
		return offer{}, err
	}
	all, err := c.Served(ctx)
	if err != nil {
		return offer{}, err
	}
	served := map[string]bool{}
	for _, k := range all {
		served[k.GVK.APIVersion()], served[k.GVK.APIVersion()+"/"+k.GVK.Kind] = true, true
	}
	return offer{version: version, served: slices.Sorted(maps.Keys(served))}, nil
}
