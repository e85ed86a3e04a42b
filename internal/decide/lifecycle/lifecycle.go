// Package lifecycle answers: how does a Helm release stand, and which action is next?
//
// In: the stored releases, whether the newest is what is asked for, how often that has failed, and what the app asks for after failures.
// Out: a state by its name, and the action that it leads to.
// Promise: pure; what was begun is ended before anything else is begun, unless something else is asked for by then; a failure is never followed by
// more attempts than the app allows, and than requests ask for.
// Not here: carrying an action out (reconcile), what is in a release (render/helm).
package lifecycle

import (
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// Stored is one of the stored releases.
type Stored struct {
	Revision int
	Status   hook.Status
	// Tests is how its tests ended.
	Tests Tests
	// ByOthers says that truce has not stored it: a helm that a person runs, or ran.
	ByOthers bool
}

// Tests is how the tests of a release ended.
type Tests string

// The values of Tests.
const (
	Untested    Tests = "untested"
	TestsPassed Tests = "passed" // or there are none that are asked for
	TestsFailed Tests = "failed"
)

// Input is what is known of a release.
type Input struct {
	Stored []Stored // the newest first
	// Wanted says whether the newest is of the chart and the values asked for.
	Wanted bool
	// Forced says that another release is asked for by a request, whatever there is: Wanted is false then.
	Forced bool
	// Renamed says that the newest is of a chart with another name, and is uninstalled for that.
	Renamed bool
	// Moved says that what is asked for has another name, is of another namespace, or is to be stored in another one, and the newest is uninstalled for that.
	Moved bool
	// Attempts are those of what is asked for.
	Attempts remedy.Attempts
	Spec     release.Spec
}

// State is how a release stands.
type State string

// The states, each with what follows.
const (
	Absent    State = "absent"    // nothing is installed: it is installed, unless that has failed too often; failed upgrades do not count
	Pending   State = "pending"   // an action has begun and not ended: it goes on
	Replaced  State = "replaced"  // an action has begun for what is not asked for any more, or by others: it has failed, and an upgrade follows
	Renamed   State = "renamed"   // a chart or a release of another name is there: it is uninstalled, so that what is asked for is installed then
	OutOfSync State = "outofsync" // something else is deployed: an upgrade, unless that has failed too often
	Failed    State = "failed"    // what is asked for has failed: it is remedied, tried again, or left
	Untried   State = "untried"   // it is deployed, and its tests have not run
	InSync    State = "insync"    // nothing is to be done
)

// Decision is how a release stands, and what is next.
type Decision struct {
	State State
	// Action is what is done; hook.Keep for nothing, or for going on with what is pending.
	Action hook.Step
	// Target is the revision to which a rollback goes.
	Target int
	// Blocked is why nothing is done about a failure.
	Blocked remedy.Blocked
}

// Decide returns what is next.
func Decide(in Input) Decision {
	d := Decision{State: in.state()}
	switch d.State {
	case Absent:
		d.Action = hook.Install
		if in.isSpent(in.Spec.AfterInstall, in.Attempts.Install) {
			d.Action, d.Blocked = hook.Keep, remedy.RetriesExceeded
		}
	case Replaced:
		d.Action = hook.Upgrade
	case OutOfSync:
		d.Action = hook.Upgrade
		if in.isSpent(in.Spec.AfterUpgrade, in.Attempts.Upgrade) {
			d.Action, d.Blocked = hook.Keep, remedy.RetriesExceeded
		}
	case Renamed:
		d.Action = hook.Uninstall
	case Failed:
		return in.afterFailure()
	case Untried:
		d.Action = hook.Test
	case Pending, InSync:
	}
	return d
}

func (in Input) state() State {
	if len(in.Stored) == 0 || in.Stored[0].Status == hook.Uninstalled {
		return Absent
	}
	newest := in.Stored[0]
	switch {
	case in.Moved && (newest.ByOthers || newest.Status != hook.Uninstalling):
		return Renamed
	case newest.ByOthers && newest.Status.IsUnderWay():
		return Replaced
	case newest.Status == hook.PendingRollback, newest.Status == hook.Uninstalling:
		return Pending
	case newest.Status.IsPending() && in.Wanted:
		return Pending
	case newest.Status.IsPending():
		return Replaced
	case !in.Wanted && in.Renamed:
		return Renamed
	case !in.Wanted:
		return OutOfSync
	case newest.Status != hook.Deployed:
		return Failed
	case in.Spec.TestPolicy == remedy.SkipTests:
		return InSync
	case newest.Tests == Untested:
		return Untried
	case newest.Tests == TestsFailed && in.remedy().Tests == remedy.CountTests:
		return Failed
	}
	return InSync
}

// remedy is what follows a failure of what was done last.
func (in Input) remedy() remedy.Remedy {
	if in.isInstall() {
		return in.Spec.AfterInstall
	}
	return in.Spec.AfterUpgrade
}

func (in Input) isInstall() bool {
	if in.Attempts.Action != "" {
		return in.Attempts.Action == string(hook.Install)
	}
	return len(in.Stored) > 0 && in.Stored[0].Revision == 1
}

// isSpent reports whether no try is left. A request for another release has one.
func (in Input) isSpent(r remedy.Remedy, failures int64) bool {
	return !in.Forced && failures > 0 && exhausted(r, failures)
}

func exhausted(r remedy.Remedy, failures int64) bool {
	return r.OnFailure != remedy.RetryOnFailure && r.Retries >= 0 && failures > r.Retries
}

func (in Input) afterFailure() Decision {
	d, r, failures := Decision{State: Failed}, in.remedy(), in.Attempts.Upgrade
	if in.isInstall() {
		failures = in.Attempts.Install
	}
	switch {
	case r.OnFailure == remedy.RetryOnFailure, failures == 0: // what has made it fail has changed
		d.Action = hook.Upgrade
	case exhausted(r, failures) && r.Last != remedy.RemedyLast:
		d.Blocked = remedy.RetriesExceeded
	case r.OnFailure == remedy.UninstallOnFailure:
		d.Action = hook.Uninstall
	default:
		d.Action, d.Target = hook.Rollback, in.rollbackTarget(r)
		if d.Target == 0 {
			d.Action, d.Blocked = hook.Keep, remedy.MissingRollbackTarget
		}
	}
	return d
}

// RollbackTarget is the revision to which a failed upgrade to the newest one is rolled back; 0 for none.
func (in Input) RollbackTarget() int { return in.rollbackTarget(in.Spec.AfterUpgrade) }

// rollbackTarget is the newest release before that was deployed; 0 for none. What was uninstalled is no target, nor what was there before that.
func (in Input) rollbackTarget(r remedy.Remedy) int {
	for _, s := range in.Stored[1:] {
		if s.Status == hook.Uninstalled {
			break
		}
		worked := s.Status == hook.Deployed || s.Status == hook.Superseded
		if worked && (s.Tests != TestsFailed || r.Tests == remedy.IgnoreTests) {
			return s.Revision
		}
	}
	return 0
}

// AfterRemedy is whether what is asked for is tried again after its failure was remedied. An upgrade whose remedy was to uninstall is followed by an install,
// as in Flux: otherwise the last failure would leave nothing in its place.
func AfterRemedy(spec release.Spec, a remedy.Attempts) remedy.Blocked {
	in := Input{Spec: spec, Attempts: a}
	failures := a.Upgrade
	switch {
	case in.isInstall():
		failures = a.Install
	case spec.AfterUpgrade.OnFailure == remedy.UninstallOnFailure:
		return remedy.NotBlocked
	}
	if exhausted(in.remedy(), failures) {
		return remedy.RetriesExceeded
	}
	return remedy.NotBlocked
}
