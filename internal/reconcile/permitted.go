package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// authorize drops the objects that the app may not have, and makes each of them a problem. It comes before objects and claims are registered:
// what a tenant's Git names must not keep another tenant's app from its object, nor claim a field of it. Nothing is pruned in such a run, since a
// run with problems ends before that.
func (r *appRun) authorize(ctx context.Context) error {
	kept := r.set.Objects[:0:0]
	for _, o := range r.set.Objects {
		why, err := r.refused(ctx, o)
		if err != nil {
			return &stageError{report.ClusterFailed, fmt.Errorf("ask whether %s may apply %s: %w", r.app.Account.User(), o.ID, err)}
		}
		if why == "" {
			kept = append(kept, o)
			continue
		}
		r.problems = append(r.problems, live.Doubted(fmt.Errorf("%s:%d: %s: %s", o.File, o.Line, o.ID, why)))
	}
	r.set.Objects = kept
	return nil
}

// refused says why the app may not have an object; empty where it may. Of an object that the app has already, the apply itself says it.
func (r *appRun) refused(ctx context.Context, o desired.Object) (string, error) {
	if why := tenancy.Refusal(r.app, o.ID); why != "" || r.app.Account.IsSelf() {
		return why, nil
	}
	if rec := r.engine.lookup(o.ID); rec != nil && rec.ownedBy() == r.app.Key {
		return "", nil
	}
	why, err := r.access.Rights.Refused(ctx, "patch", o.GVK, o.ID)
	if why != "" {
		why += ": not applied"
	}
	if errors.Is(err, live.ErrUnknownKind) && r.rendered.defines(o.GVK) {
		return "", nil
	}
	if errors.Is(err, live.ErrUnknownKind) {
		return err.Error(), nil
	}
	return why, err
}

// ownIdentity is the only identity of an engine that was given no others. It refuses accounts.
type ownIdentity struct{ tenancy.Access }

// As implements tenancy.Identities.
func (s ownIdentity) As(account identity.Account) (tenancy.Access, error) {
	if !account.IsSelf() {
		return tenancy.Access{}, fmt.Errorf("impersonate %s: this process cannot", account.User())
	}
	return s.Access, nil
}
