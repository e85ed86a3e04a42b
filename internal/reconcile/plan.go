package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// decide makes the plan, first without and then with the evidence of who wrote. Before a field that could be claimed is corrected, the
// claimants are listed once more.
func (w *objectReconcile) decide(ctx context.Context) error {
	w.plan = decide.JudgeObject(w.input)
	if w.plan.Refused != "" {
		return errors.New(w.plan.Refused)
	}
	if w.plan.AdoptionLost != "" {
		w.engine.endAdoption(w.app, w.plan.AdoptionLost)
		return errRepeat // as an object of an app that is only observed
	}
	if changed, err := w.relistClaimants(ctx); err != nil {
		return err
	} else if changed {
		return errRepeat
	}
	w.addEvidence(ctx)
	w.judged = true
	return nil
}

// relistClaimants lists the claimants of the namespace once more before a field that could be claimed is put back.
// It reports whether that changed anything: then the object is judged again.
func (w *objectReconcile) relistClaimants(ctx context.Context) (bool, error) {
	if w.relisted || w.app.Policy.Claims != policy.ClaimsCede {
		return false, nil
	}
	kinds := append(w.claimable(), w.engine.unconfirmed(w.managed.id)...)
	if len(kinds) == 0 {
		return false, nil
	}
	w.relisted = true
	before := w.engine.claimants(w.managed.id)
	if err := w.engine.refreshClaims(ctx, kinds, w.managed.id.Namespace); err != nil {
		return false, fmt.Errorf("list claimants before correcting it: %w", err)
	}
	return !slices.Equal(before, w.engine.claimants(w.managed.id)), nil
}
