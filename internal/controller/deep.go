package controller

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
)

// Pace bounds what is done without anybody asking for it.
type Pace struct {
	// Verify is the mean time between two deep verifications of a kind: a list of all of its objects, 500 a request, that shows
	// which events were lost. Kinds are verified at different times.
	Verify time.Duration
	// Resettle is how many objects a second are judged again after their CRD has changed.
	Resettle float64
}

// OrDefault returns the pace with an hour, and 20 objects a second, where there is none.
func (p Pace) OrDefault() Pace {
	return Pace{Verify: cmp.Or(p.Verify, time.Hour), Resettle: cmp.Or(p.Resettle, 20)}
}

// onWatchBegun implements kindListener: it sets the first deep verification of a kind that has just come under watch, at any time within the period.
func (t *target) onWatchBegun(p watchKey) { t.deep.AddAfter(p, rand.N(t.c.Pace.Verify)) }

// verifyKind compares the objects of one kind with what is remembered of them. A kind of which no app names an object is not watched
// any longer: no Ensure waits for it, as an app's objects are registered before.
func (t *target) verifyKind(ctx context.Context, p watchKey) time.Duration {
	gvk := p.gvk
	if t.kinds.retire(p, func() bool { return t.engine.HasObjects(live.Interest{GVK: gvk, Namespace: p.namespace}) }) {
		return 0
	}
	named, missed, err := t.engine.Verify(ctx, t.kinds.interest(p))
	switch {
	case ctx.Err() != nil:
		return 0
	case err != nil:
		t.c.Log.Warn("verify", "kind", gvk.String(), "error", err.Error())
	case missed > 0:
		t.c.Log.Warn("verify", "kind", gvk.String(), "objects", named, "missed", missed)
	default:
		t.c.Log.Debug("verify", "kind", gvk.String(), "objects", named)
	}
	return t.c.Pace.Verify*9/10 + rand.N(t.c.Pace.Verify/5)
}
