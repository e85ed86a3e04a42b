package hooks

import (
	"cmp"
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// mostPods bounds how many pods of a Job are read to find out why it failed.
const mostPods = 50

// judge says whether a hook has ended.
func (r *Runner) judge(ctx context.Context, h hook.Hook, now object.Object, run hook.Run) (WaitError, error) {
	t, err := r.target(ctx, h)
	if err != nil {
		return WaitError{}, err
	}
	done, why := hasEnded(now, r.Health)
	switch {
	case why != "":
		return WaitError{}, r.failure(h, t, withTrouble(why, r.trouble(ctx, t.ID, now)))
	case done:
		return WaitError{}, nil
	}
	until, over := r.deadline(run)
	if over {
		return WaitError{}, r.failure(h, t, withTrouble(fmt.Sprintf("it has not finished within %s", r.Timeout), r.trouble(ctx, t.ID, now)))
	}
	return WaitError{Check: checkOf(t), UID: now.UID(), Until: until, Text: fmt.Sprintf("waiting for %s hook %s", r.Event, t.ID)}, nil
}

func withTrouble(why, cause string) string {
	if cause == "" {
		return why
	}
	return why + ": " + cause
}

// hasEnded reports whether a Job has finished, and why it has failed; of other objects whether they are healthy, a Pod as well. As in Helm they need not
// be where there is nothing to judge them by, and a Pod has to finish.
func hasEnded(o object.Object, as health.Assessor) (done bool, failed string) {
	switch gvk := o.GVK(); {
	case gvk.Group == "batch" && gvk.Kind == "Job":
		if c := health.Condition(o, "Failed"); c != nil && c.StringAt("status") == "True" {
			return true, withTrouble(cmp.Or(c.StringAt("reason"), "it failed"), c.StringAt("message"))
		}
		c := health.Condition(o, "Complete")
		return c != nil && c.StringAt("status") == "True", ""
	case as == nil && gvk.Group == "" && gvk.Kind == "Pod":
		if o.StringAt("status", "phase") == "Failed" {
			return true, withTrouble("it failed", withTrouble(o.StringAt("status", "reason"), o.StringAt("status", "message")))
		}
		return o.StringAt("status", "phase") == "Succeeded", ""
	}
	if as == nil {
		return true, ""
	}
	switch now := as.Assess(o); now.Code {
	case health.Degraded:
		return true, withTrouble("it is Degraded", now.Message)
	case health.Unknown: // of a custom resource Argo CD has no rule that could fail
		if object.IsBuiltIn(o.GVK().Group) {
			return true, withTrouble("its health is Unknown", now.Message)
		}
		return true, ""
	case health.Progressing, health.Suspended, health.Missing:
		return false, ""
	default:
		return true, ""
	}
}

// trouble is what the pods of a hook say; empty for nothing, and where they cannot be read.
func (r *Runner) trouble(ctx context.Context, id object.ID, o object.Object) string {
	if o.GVK().Kind == "Pod" {
		return health.PodTrouble([]object.Object{o})
	}
	pods, err := r.Access.Live.List(ctx, live.Interest{
		GVK: object.GVK{Version: "v1", Kind: "Pod"}, Namespace: id.Namespace, Selector: health.PodSelector(o), Depth: live.Full, Most: mostPods,
	})
	if err != nil {
		return ""
	}
	return health.PodTrouble(health.OwnedPods(o.UID(), pods))
}
