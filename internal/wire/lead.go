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

// lead runs work: at once without an election, else while this process holds the lease. Losing it is an error. The times are
// Kubernetes' own for its controllers.
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
		LeaseMeta:  metav1.ObjectMeta{Namespace: cmp.Or(o.Election.Namespace, c.Namespace()), Name: o.Election.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	outcome := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: o.Election.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { outcome <- work(ctx) },
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
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(running)
	}()
	select {
	case err := <-outcome: // it could not begin, or ctx has ended
		cancel()
		<-ended
		if ctx.Err() == nil && err == nil {
			return errDeposed
		}
		return err
	case <-ended:
	}
	if ctx.Err() != nil {
		return nil
	}
	return errDeposed
}
