package flux

import (
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// actions reads how Helm's actions are carried out, and what follows their failures.
func (r *reading) actions(out *release.Spec, hr helmv2.HelmRelease) {
	install, upgrade, rollback, uninstall, test := hr.GetInstall(), hr.GetUpgrade(), hr.GetRollback(), hr.GetUninstall(), hr.GetTest()
	timeout := hr.GetTimeout()
	action := func(name string, within time.Duration, disableHooks bool) hook.Action {
		a := hook.Action{Timeout: r.span("spec."+name+".timeout", within)}
		if disableHooks {
			a.Hooks = hook.SkipHooks
		}
		return a
	}
	out.Install = action("install", install.GetTimeout(timeout).Duration, install.DisableHooks)
	out.Upgrade = action("upgrade", upgrade.GetTimeout(timeout).Duration, upgrade.DisableHooks)
	out.Rollback = action("rollback", rollback.GetTimeout(timeout).Duration, rollback.DisableHooks)
	out.Uninstall = action("uninstall", uninstall.GetTimeout(timeout).Duration, uninstall.DisableHooks)
	out.Test = action("test", test.GetTimeout(timeout).Duration, false)
	out.Install.Wait = waitModeOf(install.DisableWait, install.DisableWaitForJobs)
	out.Upgrade.Wait = waitModeOf(upgrade.DisableWait, upgrade.DisableWaitForJobs)
	out.Rollback.Wait = waitModeOf(rollback.DisableWait, rollback.DisableWaitForJobs)
	out.Uninstall.Wait = waitModeOf(uninstall.DisableWait, false)
	out.Install.Ownership, out.Upgrade.Ownership = takesOwnership(install.DisableTakeOwnership), takesOwnership(upgrade.DisableTakeOwnership)
	out.Upgrade.Cleanup, out.Rollback.Cleanup = cleanup(upgrade.CleanupOnFail), cleanup(rollback.CleanupOnFail)
	out.Uninstall.Propagation = r.propagation(uninstall)
	if upgrade.GetChartNameChangeStrategy() == helmv2.ChartNameChangeStrategyReinstall {
		out.Renamed = remedy.Reinstall
	}
	out.AfterInstall = r.remedy("spec.install", install.GetRemediation(), install.GetRetry(false), test)
	out.AfterUpgrade = r.remedy("spec.upgrade", upgrade.GetRemediation(), upgrade.GetRetry(false), test)
	if test.Enable {
		out.TestPolicy = remedy.RunTests
	}
	for i, f := range test.GetFilters() {
		one := remedy.Filter{Name: f.Name}
		if f.Exclude {
			one.Kind = remedy.Exclude
		}
		if f.Name == "" {
			r.Problem(fmt.Sprintf("spec.test.filters[%d].name", i), "required")
		}
		out.Filters = append(out.Filters, one)
	}
	r.attempts(out, hr)
}

func takesOwnership(disabled bool) hook.Ownership {
	if disabled {
		return hook.RefuseOthers
	}
	return hook.TakeOwnership
}

func cleanup(wanted bool) hook.Cleanup {
	if wanted {
		return hook.DeleteNew
	}
	return hook.KeepNew
}

func (r *reading) propagation(uninstall helmv2.Uninstall) hook.Propagation {
	switch p := uninstall.GetDeletionPropagation(); p {
	case "background", "":
	case string(hook.Foreground), string(hook.Orphan):
		return hook.Propagation(p)
	default:
		r.Problem("spec.uninstall.deletionPropagation", "want background, foreground or orphan, not %q", p)
	}
	return hook.Background
}

func waitModeOf(disabled, notForJobs bool) hook.Wait {
	switch {
	case disabled:
		return hook.WaitForNothing
	case notForJobs:
		return hook.WaitButForJobs
	}
	return hook.WaitForAll
}

// remedy reads what follows a failure. As in Flux tests count unless spec.test.ignoreFailures, or the remediation's own field, says otherwise.
func (r *reading) remedy(field string, by helmv2.Remediation, retry helmv2.Retry, test helmv2.Test) remedy.Remedy {
	out := remedy.Remedy{Retries: int64(by.GetRetries())}
	switch s := by.GetStrategy(); s {
	case helmv2.RollbackRemediationStrategy:
		out.OnFailure = remedy.RollBackOnFailure
	case helmv2.UninstallRemediationStrategy:
		out.OnFailure = remedy.UninstallOnFailure
	default:
		r.Problem(field+".remediation.strategy", "want rollback or uninstall, not %q", s)
	}
	if retry != nil {
		out.OnFailure = remedy.RetryOnFailure
	}
	if by.MustRemediateLastFailure() {
		out.Last = remedy.RemedyLast
	}
	if by.MustIgnoreTestFailures(test.IgnoreFailures) {
		out.Tests = remedy.IgnoreTests
	}
	return out
}

// attempts reads what the status remembers of attempts that have failed.
func (r *reading) attempts(out *release.Spec, hr helmv2.HelmRelease) {
	s := hr.Status
	out.Generation = hr.Generation
	out.Attempts = remedy.Attempts{
		All: s.Failures, Install: s.InstallFailures, Upgrade: s.UpgradeFailures, Generation: s.LastAttemptedGeneration,
		Version: s.LastAttemptedRevision, Config: s.LastAttemptedConfigDigest, Action: string(s.LastAttemptedReleaseAction),
	}
	asked := hr.Annotations[meta.ReconcileRequestAnnotation]
	out.SeenReset, out.SeenForce = hr.Annotations[helmv2.ResetRequestAnnotation], hr.Annotations[helmv2.ForceRequestAnnotation]
	if out.SeenReset == asked && out.SeenReset != s.LastHandledResetAt {
		out.Reset = asked
	}
	if out.SeenForce == asked && out.SeenForce != s.LastHandledForceAt {
		out.Force = asked
	}
}

// retryInterval is the pause after a failure that is neither remedied nor left: that of the strategy, or the interval.
func (r *reading) retryInterval(a *app.App, hr helmv2.HelmRelease) {
	a.Retry = a.Interval
	install, upgrade := hr.GetInstall(), hr.GetUpgrade()
	if retry := upgrade.GetRetry(false); retry != nil {
		a.Retry = r.period("spec.upgrade.strategy.retryInterval", retry.GetRetryInterval())
	}
	if retry := install.GetRetry(false); retry != nil && hr.Status.LastAttemptedReleaseAction != helmv2.ReleaseActionUpgrade {
		a.Retry = r.period("spec.install.strategy.retryInterval", retry.GetRetryInterval())
	}
}
