package lease

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock returns the lock for client-go's elector: what it writes and reads moves the term on, or ends it.
func (t *Term) Lock(l resourcelock.Interface) resourcelock.Interface { return lock{l, t} }

type lock struct {
	resourcelock.Interface
	term *Term
}

// Get implements resourcelock.Interface.
func (l lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, text, err := l.Interface.Get(ctx)
	if err == nil {
		l.term.seen(r.HolderIdentity, l.Identity())
	}
	return r, text, err
}

// Create implements resourcelock.Interface.
func (l lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (l lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.renew(r, func() error { return l.Interface.Update(ctx, r) })
}

// renew writes the Lease. After the end of the term it does not: the process ends, and another one is elected.
func (l lock) renew(r resourcelock.LeaderElectionRecord, write func() error) error {
	if err := l.term.Err(); err != nil {
		return err
	}
	sent := currentMoment()
	if err := write(); err != nil {
		return err
	}
	l.term.renewed(sent, r.LeaderTransitions)
	return nil
}

// releaseTries is how often a release is tried that meets a renewal which was still under way.
const releaseTries = 3

// Release ends the term and gives the Lease back, so that another process need not wait until it expires. It is called when the elector
// has returned. A Lease that another process holds is left alone, and so is one under which the server may still do a write.
func (t *Term) Release(ctx context.Context, l resourcelock.Interface) error {
	if !t.stop() {
		return errors.New("release the lease: a write may still be under way, so it expires by itself")
	}
	var err error
	for range releaseTries {
		if err = release(ctx, l); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("release the lease %s: %w", l.Describe(), err)
	}
	return nil
}

func release(ctx context.Context, l resourcelock.Interface) error {
	was, _, err := l.Get(ctx)
	if err != nil {
		return err
	}
	if was.HolderIdentity != l.Identity() {
		return nil
	}
	now := metav1.Now()
	return l.Update(ctx, resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now, LeaderTransitions: was.LeaderTransitions})
}
