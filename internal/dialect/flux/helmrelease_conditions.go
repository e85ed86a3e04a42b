package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/report"
)

// releaseWords are helm-controller's words for an action.
type releaseWords struct{ name, succeeded, failed string }

// wordsOf are those of the action by which what is asked for was tried last.
func wordsOf(r release.Installed) releaseWords {
	if attemptedAction(r) == helmv2.ReleaseActionInstall {
		return releaseWords{"install", helmv2.InstallSucceededReason, helmv2.InstallFailedReason}
	}
	return releaseWords{"upgrade", helmv2.UpgradeSucceededReason, helmv2.UpgradeFailedReason}
}

func releaseName(r release.Installed, revision int) string {
	return fmt.Sprintf("%s/%s.v%d", r.Namespace, r.Name, revision)
}

func chartName(r release.Installed) string { return r.Chart + "@" + r.Version }

// released is a release that is as it should be.
func (c *conditions) released(r report.Report) {
	n := r.Release
	if n == nil {
		c.set(meta.ReadyCondition, metav1.ConditionTrue, helmv2.InstallSucceededReason, summary(r))
		return
	}
	words := wordsOf(*n)
	reason, message := words.succeeded, succeeded(*n)
	c.set(helmv2.ReleasedCondition, metav1.ConditionTrue, reason, message)
	c.tested(*n)
	if tested := findCondition(c.now, helmv2.TestSuccessCondition); tested != nil && tested.Status == metav1.ConditionTrue {
		reason, message = tested.Reason, tested.Message
	}
	all := []string{message}
	if r.Applied != r.Revision {
		all = append(all, nothingApplied(r))
	}
	c.set(meta.ReadyCondition, metav1.ConditionTrue, reason, strings.Join(append(all, remarks(r)...), "; "))
}

// succeeded says that the newest release is deployed.
func succeeded(n release.Installed) string {
	return fmt.Sprintf("Helm %s succeeded for release %s with chart %s", wordsOf(n).name, releaseName(n, n.Revision), chartName(n))
}

func testFailed(n release.Installed, cause string) string {
	return fmt.Sprintf("Helm test failed for release %s with chart %s: %s", releaseName(n, n.Revision), chartName(n), cause)
}

// tested says how the tests of the newest release have ended, if they are asked for.
func (c *conditions) tested(n release.Installed) {
	for _, t := range n.Tests {
		if t.Phase == hook.Failed {
			c.set(helmv2.TestSuccessCondition, metav1.ConditionFalse, helmv2.TestFailedReason, testFailed(n, cmp.Or(n.Cause, "test hook "+t.Name+" failed")))
			return
		}
	}
	ran := "no test hooks"
	switch {
	case n.Tests == nil:
		return
	case len(n.Tests) > 0:
		ran = countNoun(len(n.Tests), "test hook") + " completed successfully"
	}
	message := fmt.Sprintf("Helm test succeeded for release %s with chart %s: %s", releaseName(n, n.Revision), chartName(n), ran)
	c.set(helmv2.TestSuccessCondition, metav1.ConditionTrue, helmv2.TestSucceededReason, message)
}

// failedRelease is a run that was stopped: by a failed action, by what was done about that, or before there was any.
func (c *conditions) failedRelease(cr object.Object, r report.Report, s helmv2.HelmReleaseStatus) {
	n := r.Release
	isAction := slices.Contains([]report.Reason{report.RenderFailed, report.ApplyFailed, report.HealthFailed, report.PruneFailed, report.Remediated}, r.Reason)
	switch {
	case r.Reason == report.SourceNotReady && cr.At("spec", "chart") != nil:
		c.keepActions()
		c.retried(sourceNotReady, r.Message)
	case r.Reason == report.RenderFailed, !isAction, n == nil:
		c.failedBefore(r, s, isAction)
	case r.Reason != report.Remediated && wasDeployed(*n): // something has happened since
		c.keepActions()
		c.retried(cmp.Or(reasons[r.Reason], meta.ReconciliationFailedReason), cmp.Or(r.Message, problemsOf(r)))
	default:
		c.failedAction(r, *n)
	}
}

// notUninstalled is a HelmRelease that is being deleted and whose release could not be uninstalled.
func (c *conditions) notUninstalled(r report.Report, s helmv2.HelmReleaseStatus) {
	message := "Helm uninstall failed: " + r.Message
	if n := s.History.Latest(); n != nil {
		message = fmt.Sprintf("Helm uninstall failed for release %s/%s.v%d with chart %s@%s: %s", n.Namespace, n.Name, n.Version, n.ChartName, n.ChartVersion, r.Message)
	}
	c.set(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallFailedReason, message)
	c.retried(helmv2.UninstallFailedReason, message)
}

// wasDeployed reports whether the newest release is as it was asked for, by this process or an earlier one.
func wasDeployed(n release.Installed) bool {
	worked := n.Action != hook.Uninstall && n.Ended == remedy.EndedWell || n.Action == hook.Keep && n.Status == hook.Deployed
	return worked && n.Blocked == remedy.NotBlocked
}

// failedBefore is a run that was stopped before an action could fail.
func (c *conditions) failedBefore(r report.Report, s helmv2.HelmReleaseStatus, isAction bool) {
	reason, message := reasons[r.Reason], cmp.Or(r.Message, problemsOf(r))
	if isAction {
		words := releaseWords{"install", "", helmv2.InstallFailedReason}
		if len(s.History) > 0 {
			words = releaseWords{"upgrade", "", helmv2.UpgradeFailedReason}
		}
		reason, message = words.failed, "Helm "+words.name+" failed: "+message
		c.set(helmv2.ReleasedCondition, metav1.ConditionFalse, reason, message)
	} else {
		c.keepActions()
	}
	c.retried(cmp.Or(reason, meta.ReconciliationFailedReason), message)
}

// keepActions leaves what the newest actions have left: a run that takes none changes nothing of it.
func (c *conditions) keepActions() {
	c.keep(helmv2.ReleasedCondition)
	c.keep(helmv2.TestSuccessCondition)
	c.keep(helmv2.RemediatedCondition)
}

func (c *conditions) retried(reason, message string) {
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// failedAction is an action that has failed, and what was done about it. Ready has the words of the newest of these.
func (c *conditions) failedAction(r report.Report, n release.Installed) {
	words := wordsOf(n)
	reason, message := words.failed, fmt.Sprintf("Helm %s failed for release %s/%s with chart %s: %s", words.name, n.Namespace, n.Name, attemptedChart(n), cmp.Or(n.Cause, r.Message, problemsOf(r)))
	switch old := findCondition(c.had, helmv2.ReleasedCondition); {
	case n.Failure == hook.Test:
		c.set(helmv2.ReleasedCondition, metav1.ConditionTrue, words.succeeded, succeeded(n))
		reason, message = helmv2.TestFailedReason, testFailed(n, cmp.Or(n.Cause, r.Message, problemsOf(r)))
		c.set(helmv2.TestSuccessCondition, metav1.ConditionFalse, reason, message)
	case n.Failure == hook.Keep && old != nil: // of an earlier process
		c.keep(helmv2.ReleasedCondition)
		c.keep(helmv2.TestSuccessCondition)
		reason, message = old.Reason, old.Message
	default:
		c.set(helmv2.ReleasedCondition, metav1.ConditionFalse, reason, message)
	}
	if n.Action == hook.Rollback || n.Action == hook.Uninstall {
		reason, message = c.remediated(r, n)
	} else if old := findCondition(c.had, helmv2.RemediatedCondition); old != nil && n.Action == hook.Keep {
		c.keep(helmv2.RemediatedCondition)
		reason, message = old.Reason, old.Message
	}
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	if n.Blocked != remedy.NotBlocked {
		c.set(meta.StalledCondition, metav1.ConditionTrue, string(n.Blocked), blockedText(n))
		return
	}
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

func attemptedChart(n release.Installed) string {
	return n.Chart + "@" + cmp.Or(n.Attempts.Version, n.Version)
}

func blockedText(n release.Installed) string {
	if n.Blocked == remedy.MissingRollbackTarget {
		return "Failed to perform remediation: missing target release for rollback: cannot remediate failed release"
	}
	failures := n.Attempts.Upgrade
	if attemptedAction(n) == helmv2.ReleaseActionInstall {
		failures = n.Attempts.Install
	}
	return fmt.Sprintf("Failed to %s after %d attempt(s)", wordsOf(n).name, failures)
}

// remediated says how the remedy of a failure has ended.
func (c *conditions) remediated(r report.Report, n release.Installed) (reason, message string) {
	status := metav1.ConditionTrue
	switch {
	case n.Action == hook.Rollback && n.Ended == remedy.EndedWell:
		reason, message = helmv2.RollbackSucceededReason, fmt.Sprintf("Helm rollback to previous release %s with chart %s succeeded", releaseName(n, cmp.Or(n.Target, n.Revision)), chartName(n))
	case n.Action == hook.Rollback:
		reason, message = helmv2.RollbackFailedReason, fmt.Sprintf("Helm rollback to previous release %s with chart %s failed: %s", releaseName(n, cmp.Or(n.Target, n.Revision)), chartName(n), n.RemedyCause)
	case n.Ended == remedy.EndedWell:
		reason, message = helmv2.UninstallSucceededReason, fmt.Sprintf("Helm uninstall remediation for release %s with chart %s succeeded", releaseName(n, n.Revision), chartName(n))
	default:
		reason, message = helmv2.UninstallFailedReason, fmt.Sprintf("Helm uninstall remediation for release %s with chart %s failed: %s", releaseName(n, n.Revision), chartName(n), n.RemedyCause)
	}
	if n.Ended != remedy.EndedWell {
		status = metav1.ConditionFalse
	}
	c.set(helmv2.RemediatedCondition, status, reason, cmp.Or(message, r.Message))
	return reason, message
}
