// Package leader answers: which of several controllers works?
//
// In: the Lease to elect by, and the work.
// Out: the work, done while this process holds the Lease.
// Promise: no two controllers write at once; the Lease is given back only when the work has ended; losing it is an error that ends the process.
// Not here: that no write outlives the Lease (cluster/lease), what the work is (compose).
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election names the Lease by which one of several controllers becomes the leader. The zero value is no election.
type Election struct {
	Namespace, Name string
	// Duration is how long the Lease holds after its last renewal.
	Duration time.Duration
}

// Term returns when a controller that stands for the election may write; nil for the zero Election.
func (e Election) Term() *lease.Term {
	if e == (Election{}) {
		return nil
	}
	return lease.NewTerm(e.Duration)
}

// Options say how to stand for an election.
type Options struct {
	Election  Election
	Namespace string // of the Lease, where Election names none
	WorksFor  cluster.Namespaces
	Cluster   *cluster.Client
	Term      *lease.Term // that of the Election, which bounds the Cluster's writes
	Log       *slog.Logger
}

// RunElected does the work: at once without an election, else while this process holds the Lease. Losing the Lease is an error.
func RunElected(ctx context.Context, o Options, work func(context.Context) error) error {
	if o.Election == (Election{}) {
		return work(ctx)
	}
	c, err := newCandidate(ctx, o, work)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	return c.run(ctx)
}

func newCandidate(ctx context.Context, o Options, work func(context.Context) error) (*candidate, error) {
	lock, err := newLock(o)
	if err != nil {
		return nil, err
	}
	e := o.Election
	c := &candidate{lock: lock, term: o.Term, outcome: make(chan error, 1), log: o.Log}
	behind := standby{worksFor: o.WorksFor, lease: lock.Describe(), patience: 2 * e.Duration, log: o.Log}
	c.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.term.Lock(lock), LeaseDuration: e.Duration, RenewDeadline: renewWithin(e), RetryPeriod: 2 * e.Duration / 15,
		ReleaseOnCancel: false, // it would release the Lease of another process, and before the work has ended
		Name:            e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { c.outcome <- c.work(ctx, leading, work) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				o.Log.Info("leader", "identity", identity)
				behind.watch(ctx, identity, c.elector)
			},
		},
	})
	return c, err
}

// newLock returns the Lease. Its requests are not held to the term, and two of them have time before the elector gives up.
func newLock(o Options) (*resourcelock.LeaseLock, error) {
	e, config := o.Election, o.Cluster.Config()
	config.Timeout = renewWithin(e) / 2
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: cmp.Or(e.Namespace, o.Namespace), Name: e.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identityOf(host+"_"+string(uuid.NewUUID()), o.WorksFor)},
	}, nil
}

// errDeposed ends a controller whose elector has given up.
var errDeposed = errors.New("the lease of this controller could not be renewed")

// endWithin is how long a controller that has lost the Lease waits for its work to end, whose requests are cut off at once; and how long a
// release may take.
const endWithin = 5 * time.Second

// candidate stands for election. The proportions of its times are those of Kubernetes' own controllers: with a lease of 15 s, failover takes
// at most 17 s after a crash, and 2 s after a clean shutdown.
type candidate struct {
	lock    resourcelock.Interface
	term    *lease.Term
	elector *leaderelection.LeaderElector
	outcome chan error // of the work, once it has begun
	log     *slog.Logger
}

// renewWithin is how long renewals are tried before the elector gives up.
func renewWithin(e Election) time.Duration { return 2 * e.Duration / 3 }

// work does the work until it is to end, the elector gives up, or the term is over.
func (c *candidate) work(ctx, leading context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(leading, stop)()
	go func() {
		select {
		case <-c.term.Ended():
			stop()
		case <-ctx.Done():
		}
	}()
	return work(ctx)
}

// run returns when the work has ended and the Lease is given back, or when it is lost.
func (c *candidate) run(ctx context.Context) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.elector.Run(running)
	}()
	select {
	case err := <-c.outcome: // it could not begin, or ctx or the term has ended
		if err == nil && ctx.Err() == nil {
			err = c.ending(cmp.Or(c.term.Err(), errDeposed))
		}
		cancel()
		<-ended
		return c.resign(ctx, err)
	case <-ctx.Done():
	case <-c.term.Ended():
		return c.deposed(c.term.Err())
	case <-ended:
		return c.deposed(errDeposed)
	}
	var err error
	if c.elector.IsLeader() {
		err = <-c.outcome
	}
	cancel()
	<-ended
	return c.resign(ctx, err)
}

// resign gives the Lease back, if this process holds it. Where that fails it expires.
func (c *candidate) resign(ctx context.Context, err error) error {
	if !c.elector.IsLeader() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if failed := c.term.Release(ctx, c.lock); failed != nil {
		c.log.Warn("leader election", "error", failed.Error())
	}
	return err
}

// deposed waits for the work to end, which nothing of it may prolong.
func (c *candidate) deposed(why error) error {
	select {
	case err := <-c.outcome:
		return errors.Join(c.ending(why), err)
	case <-time.After(endWithin):
		return c.ending(why)
	}
}

func (c *candidate) ending(why error) error {
	return fmt.Errorf("%w: ending, so that no two controllers work at once", why)
}
