package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// Status returns the status of a HelmRelease after a run, or during one.
func (h HelmReleases) Status(cr object.Object, r report.Report) map[string]any {
	var s helmv2.HelmReleaseStatus
	reader.DecodeStatus(cr, &s)
	if r.Request != "" {
		s.LastHandledReconcileAt = r.Request
	}
	if r.Reason == report.Suspended {
		s.Conditions = suspendedConditions(r, s.Conditions)
		s.ObservedGeneration = max(s.ObservedGeneration, r.Generation)
		return statusMap(&s)
	}
	r = h.Review(cr, r)
	s.Conditions = h.conditions(cr, r, s)
	if began := !r.Running && r.Reason != report.DependencyNotReady; began {
		s.ObservedGeneration = cmp.Or(r.Generation, s.ObservedGeneration)
		s.LastAttemptedRevisionDigest = cmp.Or(r.Revision, s.LastAttemptedRevisionDigest)
	}
	if r.Release != nil {
		helmHistory(&s, *r.Release)
		noteChartDigest(s.History.Latest(), cr, r.Revision)
		s.ObservedCommonMetadataDigest = commonMetadataDigest(cr)
	}
	if how, _ := cr.Annotation(reader.AdoptedKey); how == "" || r.Recorded { // until then Flux's own list alone says what there may be to prune
		s.Inventory = helmInventory(s.Inventory, r)
	}
	if r.Release != nil && r.Release.Status == hook.Uninstalled {
		s.Inventory = &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{}}
	}
	return statusMap(&s)
}

// helmHistory says of which releases truce knows what they are made of: the newest, and those before as far as Flux keeps them.
func helmHistory(s *helmv2.HelmReleaseStatus, r release.Installed) {
	const kept = 5
	now := snapshotOf(r, r.Revision, r.Content)
	now.Status, now.Action, now.TestHooks = string(r.Status), helmAction(r), testHooks(r.Tests)
	next := helmv2.Snapshots{now}
	for _, old := range pastSnapshots(s.History, r) {
		if old.Version == r.Revision && old.Digest == r.Digest {
			keepReleased(now, old, r.Action)
		}
		if old.Version >= r.Revision || len(next) == kept {
			continue
		}
		if past, known := r.Past[old.Version]; known {
			old.Status = string(past.Status)
			old.TestHooks = cmp.Or(testHooks(past.Tests), old.TestHooks)
		} else if r.Status == hook.Deployed && old.Status == "deployed" {
			old.Status = "superseded"
		}
		next = append(next, old)
		if r.Status == hook.Deployed && hasWorked(*old) { // as in Flux the older ones are of no use any more
			break
		}
	}
	s.History, s.StorageNamespace, s.ObservedPostRenderersDigest = next, r.Storage, r.Renders
	s.LastAttemptedRevision, s.LastAttemptedConfigDigest, s.LastAttemptedReleaseAction = cmp.Or(r.Attempts.Version, r.Version), cmp.Or(r.Attempts.Config, r.Config), attemptedAction(r)
	s.LastAttemptedGeneration = cmp.Or(r.Attempts.Generation, s.LastAttemptedGeneration)
	s.Failures, s.InstallFailures, s.UpgradeFailures = r.Attempts.All, r.Attempts.Install, r.Attempts.Upgrade
	s.LastHandledResetAt = cmp.Or(r.Reset, s.LastHandledResetAt)
	s.LastHandledForceAt = cmp.Or(r.Force, s.LastHandledForceAt)
}

// keepReleased leaves what a history says of the newest release: a release does not change, and the run may have read another chart.
func keepReleased(now, was *helmv2.Snapshot, action hook.Step) {
	now.ChartName, now.ChartVersion, now.AppVersion, now.ConfigDigest, now.OCIDigest = was.ChartName, was.ChartVersion, was.AppVersion, was.ConfigDigest, was.OCIDigest
	if action == hook.Keep { // an earlier process has made it
		now.Action = cmp.Or(was.Action, now.Action)
	}
}

// noteChartDigest says of which artifact of a registry the chart of a release is, if that is the revision: the version of the chart has its first digits.
func noteChartDigest(of *helmv2.Snapshot, cr object.Object, revision string) {
	digest := revision[strings.LastIndexByte(revision, '@')+1:]
	_, digits, _ := strings.Cut(digest, ":")
	_, version, _ := strings.Cut(of.ChartVersion, "+")
	if kind := cr.StringAt("spec", "chartRef", "kind"); (kind == ociRepository || kind == externalArtifact) && version != "" && strings.HasPrefix(digits, version) {
		of.OCIDigest = digest
	}
}

// snapshotOf is without an API version: helm-controller looks at Digest, which is truce's own, where it finds its own version.
func snapshotOf(r release.Installed, revision int, c record.Content) *helmv2.Snapshot {
	return &helmv2.Snapshot{
		Digest: c.Digest, Name: r.Name, Namespace: r.Namespace, Version: revision,
		ChartName: c.Chart, ChartVersion: c.Version, AppVersion: c.AppVersion, ConfigDigest: c.Config,
		FirstDeployed: metav1.NewTime(c.First.UTC()), LastDeployed: metav1.NewTime(c.Last.UTC()),
	}
}

// pastSnapshots are the releases of a history, and those that came and went before the status was written, the newest first.
func pastSnapshots(had helmv2.Snapshots, r release.Installed) helmv2.Snapshots {
	var out helmv2.Snapshots
	listed := map[int]bool{}
	for _, old := range had {
		if old != nil && old.Name == r.Name && old.Namespace == r.Namespace {
			out, listed[old.Version] = append(out, old), true
		}
	}
	for revision, past := range r.Past {
		if past.Digest == "" || listed[revision] {
			continue
		}
		snapshot := snapshotOf(r, revision, past.Content)
		snapshot.Action = pastAction(past.Action)
		out = append(out, snapshot)
	}
	slices.SortStableFunc(out, func(a, b *helmv2.Snapshot) int { return cmp.Compare(b.Version, a.Version) })
	return out
}

// hasWorked reports whether a release was deployed once, and did not fail its tests.
func hasWorked(s helmv2.Snapshot) bool {
	return (s.Status == string(hook.Deployed) || s.Status == string(hook.Superseded)) && !s.HasTestInPhase(string(hook.Failed))
}

// commonMetadataDigest identifies spec.commonMetadata, which truce puts on objects as soon as it is there.
func commonMetadataDigest(cr object.Object) string {
	var hr helmv2.HelmRelease
	read := &reading{}
	if read.spec(cr, &hr.Spec, nil); hr.Spec.CommonMetadata == nil {
		return ""
	}
	return digestOf(hr.Spec.CommonMetadata)
}

// testHooks are the tests that have run; nil where none are asked for.
func testHooks(all []hook.TestRun) *map[string]*helmv2.TestHookStatus {
	if all == nil {
		return nil
	}
	out := map[string]*helmv2.TestHookStatus{}
	for _, t := range all {
		out[t.Name] = &helmv2.TestHookStatus{LastStarted: metav1.NewTime(t.Started.UTC()), LastCompleted: metav1.NewTime(t.Completed.UTC()), Phase: string(t.Phase)}
	}
	return &out
}

// helmAction is the action that has made the newest release.
func helmAction(r release.Installed) helmv2.ReleaseAction {
	switch r.Action {
	case hook.Rollback:
		return helmv2.ReleaseActionRollback
	case hook.Uninstall:
		return helmv2.ReleaseActionUninstallRemediation
	default:
		return attemptedAction(r)
	}
}

// pastAction is the action that has made an earlier release.
func pastAction(made hook.Step) helmv2.ReleaseAction {
	switch made {
	case hook.Install:
		return helmv2.ReleaseActionInstall
	case hook.Rollback:
		return helmv2.ReleaseActionRollback
	default:
		return helmv2.ReleaseActionUpgrade
	}
}

// attemptedAction is the action by which what is asked for was tried last.
func attemptedAction(r release.Installed) helmv2.ReleaseAction {
	switch {
	case r.Attempts.Action == string(hook.Install), r.Attempts.Action == "" && r.Revision == 1:
		return helmv2.ReleaseActionInstall
	}
	return helmv2.ReleaseActionUpgrade
}

func helmInventory(had *helmv2.ResourceInventory, r report.Report) *helmv2.ResourceInventory {
	var before *kustomizev1.ResourceInventory
	if had != nil {
		before = &kustomizev1.ResourceInventory{}
		for _, e := range had.Entries {
			before.Entries = append(before.Entries, kustomizev1.ResourceRef(e))
		}
	}
	now := inventory(before, r)
	if now == nil {
		return nil
	}
	out := &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{}}
	for _, e := range now.Entries {
		out.Entries = append(out.Entries, helmv2.ResourceRef(e))
	}
	return out
}

// Review returns the report with what only the status knows: how the newest run ended of an app that was suspended before this process began.
func (h HelmReleases) Review(cr object.Object, r report.Report) report.Report {
	var had helmv2.HelmReleaseStatus
	reader.DecodeStatus(cr, &had)
	if r.Reason == report.Suspended {
		r.Before = lastRunEnd(had.Conditions, false)
		return r
	}
	return complete(r)
}

// conditions says how it stands, in helm-controller's words.
func (h HelmReleases) conditions(cr object.Object, r report.Report, s helmv2.HelmReleaseStatus) []metav1.Condition {
	c := conditionsFor(r, s.Conditions)
	newest := findCondition(s.Conditions, meta.ReadyCondition)
	fresh := r.Generation != s.ObservedGeneration || newest == nil || newest.Status == metav1.ConditionUnknown
	switch {
	case r.Running && !fresh:
		c.keepActions()
		for _, kind := range []string{meta.ReadyCondition, drifted, contested} {
			c.keep(kind)
		}
		c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, inProgress)
		return c.sorted()
	case r.Running || r.Reason == report.InProgress || r.Reason == report.AwaitingHealth || r.Reason == "":
		c.unfinished(r)
		c.keepActions()
	case r.Reason == report.PruneFailed && cr.At("metadata", "deletionTimestamp") != nil:
		c.notUninstalled(r, s)
	case r.Reason == report.Succeeded:
		c.released(r)
	case r.Reason == report.SpecRefused || r.Reason == report.AccessDenied:
		read := &reading{}
		read.helmApp(cr, policy.Policy{})
		reason, message := read.refusal(r.Message)
		if r.Reason == report.AccessDenied {
			reason, message = accessDenied, r.Message
		}
		c.keepActions()
		c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
		c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
	default:
		c.failedRelease(cr, r, s)
	}
	if a := h.App(cr, policy.Policy{}); a.Policy.Remediation == policy.Remediate || cr.At("spec", "driftDetection", "mode") == string(helmv2.DriftDetectionWarn) {
		c.drifted(r)
		if r.Reason == report.Succeeded && findCondition(c.now, drifted) == nil {
			c.set(drifted, metav1.ConditionFalse, noDrift, "No drift detected against the cluster state")
		}
	}
	return c.sorted()
}

// News returns how a release ended, with the reason of the Ready condition, once for each change, and for each release of one chart. A remedy often
// begins before its cause was in a status: that is news then, too.
func (HelmReleases) News(before, now object.Object) []notify.Event {
	had, is := outcomeOf(before), outcomeOf(now)
	if made, _, _ := strings.Cut(is.ready.Message, ";"); is.ready.Status == metav1.ConditionTrue && had.ready.Status == metav1.ConditionTrue && !strings.HasPrefix(had.ready.Message, made) {
		before = nil
	}
	out := Kustomizations{}.News(before, now)
	if len(out) == 0 {
		return out
	}
	var earlier []notify.Event
	remedy, released := findCondition(is.Conditions, helmv2.RemediatedCondition), findCondition(is.Conditions, helmv2.ReleasedCondition)
	switch {
	case remedy != nil && remedy.Reason == is.ready.Reason:
		if remedy.Status == metav1.ConditionTrue {
			out[0].Severity = notify.Info // of the failure there is an event of its own
		}
		for _, kind := range []string{helmv2.ReleasedCondition, helmv2.TestSuccessCondition} {
			if failed := findCondition(is.Conditions, kind); failed != nil && failed.Status == metav1.ConditionFalse && hasChanged(had.Conditions, *failed) {
				earlier = []notify.Event{{Severity: notify.Error, Reason: failed.Reason, Text: failed.Message, Revision: is.revision}}
			}
		}
	case isOfTests(is.ready) && released != nil && released.Status == metav1.ConditionTrue && hasChanged(had.Conditions, *released):
		earlier = []notify.Event{{Severity: notify.Info, Reason: released.Reason, Text: released.Message, Revision: is.revision}}
	case is.ready.Status == metav1.ConditionTrue:
		out = append(out, ignoredTests(had, is)...)
	}
	return describeRelease(now, append(earlier, out...))
}

// describeRelease adds to events of the newest release what it has installed.
func describeRelease(status object.Object, all []notify.Event) []notify.Event {
	var s helmv2.HelmReleaseStatus
	reader.DecodeStatus(object.Object{"status": map[string]any(status)}, &s)
	newest := s.History.Latest()
	for i, e := range all {
		if newest != nil && e.Revision == newest.ChartVersion {
			all[i].AppVersion, all[i].Digest = newest.AppVersion, newest.OCIDigest
		}
	}
	return all
}

// ignoredTests is the event of tests that have failed, of a release that is Ready all the same.
func ignoredTests(had, is outcome) []notify.Event {
	tests := findCondition(is.Conditions, helmv2.TestSuccessCondition)
	if tests == nil || tests.Status != metav1.ConditionFalse || !hasChanged(had.Conditions, *tests) {
		return nil
	}
	return []notify.Event{{Severity: notify.Error, Reason: tests.Reason, Text: tests.Message, Revision: is.revision}}
}

// hasChanged reports whether a condition says something else than before.
func hasChanged(had []metav1.Condition, c metav1.Condition) bool {
	known := findCondition(had, c.Type)
	return known == nil || known.Reason != c.Reason || known.Message != c.Message
}

// isOfTests reports whether a Ready condition has the outcome of a release's tests.
func isOfTests(ready metav1.Condition) bool {
	return ready.Reason == helmv2.TestSucceededReason || ready.Reason == helmv2.TestFailedReason
}

// DeletionNews returns what helm-controller reports when a HelmRelease is deleted: that its newest release was uninstalled, or that this has failed.
func (h HelmReleases) DeletionNews(cr object.Object, _ []object.ID, end report.Reason) []notify.Event {
	var s helmv2.HelmReleaseStatus
	reader.DecodeStatus(cr, &s)
	newest := s.History.Latest()
	if h.App(cr, policy.Policy{}).Prune != policy.PruneDelete || newest == nil || newest.Status == string(hook.Uninstalled) {
		return nil
	}
	of := fmt.Sprintf("release %s with chart %s", newest.FullReleaseName(), newest.VersionedChartName())
	out := notify.Event{Revision: newest.ChartVersion, AppVersion: newest.AppVersion, Digest: newest.OCIDigest}
	switch end {
	case report.Succeeded:
		out.Severity, out.Reason, out.Text = notify.Info, helmv2.UninstallSucceededReason, "Helm uninstall succeeded for "+of
	case report.PruneFailed:
		out.Severity, out.Reason, out.Text = notify.Error, helmv2.UninstallFailedReason, "Helm uninstall failed for "+of
	default:
		return nil
	}
	return []notify.Event{out}
}
