package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errDeposed = errors.New("another controller has taken the lease: ending, so that no two work at once")

// endWithin is how long a controller that has lost the lease waits for its work to end; its requests are cut off at once.
const endWithin = 5 * time.Second

// lead runs work: at once without an election, else while this process holds the lease. Losing it is an error. The times are
// Kubernetes' own for its controllers: who is killed is followed within 17 s, who is told to end within 2 s. The lease is given
// back only when work has ended, so that no two write at once.
func lead(ctx context.Context, c *cluster.Client, o cli.ControllerOptions, work func(context.Context) error) error {
	if o.Election == (cli.Election{}) {
		return work(ctx)
	}
	client, err := coordination.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: cmp.Or(o.Election.Namespace, o.Namespaces.Home(c.Namespace())), Name: o.Election.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	outcome := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: o.Election.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				working, stop := context.WithCancel(ctx)
				defer stop()
				defer context.AfterFunc(leading, stop)()
				outcome <- work(working)
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { o.Log.Info("leader", "identity", identity) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	return elected(ctx, elector, outcome)
}

func elected(ctx context.Context, elector *leaderelection.LeaderElector, outcome <-chan error) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(running)
	}()
	release := func(err error) error {
		cancel()
		<-ended
		return err
	}
	select {
	case err := <-outcome: // it could not begin, or ctx has ended
		if ctx.Err() == nil && err == nil {
			err = errDeposed
		}
		return release(err)
	case <-ctx.Done():
		if elector.IsLeader() {
			return release(<-outcome)
		}
		return release(nil)
	case <-ended:
	}
	select {
	case err := <-outcome:
		return errors.Join(errDeposed, err)
	case <-time.After(endWithin):
		return errDeposed
	}
}
