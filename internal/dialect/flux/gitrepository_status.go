package flux

import (
	"cmp"
	"errors"
	"regexp"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// Status returns the status of a GitRepository after a fetch, or during one.
func (GitRepositories) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status sourcev1.GitRepositoryStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	r := &reading{}
	_, spec := r.source(cr)
	had := status.Artifact
	status.Artifact = artifact(had, s)
	status.Conditions = sourceConditions(r, s, lastFetch{
		conditions: status.Conditions, artifact: status.Artifact, observed: status.ObservedGeneration,
		stored: "stored artifact for revision", failed: sourcev1.GitOperationFailedReason, verify: spec.Verification != nil,
	})
	if s.Running {
		return statusMap(&status)
	}
	if s.Generation != 0 {
		status.ObservedGeneration = s.Generation
	}
	if s.Err == nil && len(r.Problems) == 0 {
		status.ObservedIgnore = spec.Ignore
		status.ObservedInclude = spec.Include
		status.IncludedArtifacts = includedArtifacts(status.IncludedArtifacts, s)
		status.ObservedSparseCheckout = spec.SparseCheckout
		status.ObservedRecurseSubmodules = spec.RecurseSubmodules
		status.SourceVerificationMode = nil
		if v := spec.Verification; v != nil {
			mode := v.GetMode()
			status.SourceVerificationMode = &mode
		}
	}
	return statusMap(&status)
}

// lastFetch is what the statuses of all kinds of sources have in common, and the words in which they differ.
type lastFetch struct {
	conditions []metav1.Condition
	artifact   *meta.Artifact
	observed   int64  // generation
	stored     string // before the revision of what is stored
	failed     string // the reason of a failure that has no other word
	verify     bool   // the spec asks for signatures
	// reason and text stand for what is stored, where it is no revision alone; empty for Succeeded and stored.
	reason, text string
}

func sourceConditions(r *reading, s dialect.SourceState, was lastFetch) []metav1.Condition {
	c := &conditions{had: was.conditions, at: metav1.NewTime(s.At.UTC()), generation: s.Generation}
	reason, stored := cmp.Or(was.reason, meta.SucceededReason), was.text
	if was.artifact != nil && stored == "" {
		stored = was.stored + " '" + was.artifact.Revision + "'"
	}
	switch {
	case len(r.Problems) > 0:
		reason, message := r.refusal("")
		if reason == invalidSpec {
			reason = r.invalidReason()
		}
		c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
		c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
	case s.Running:
		c.fetching(s, was.observed)
	case s.Err != nil:
		c.unfetched(s.Err, was.failed)
	case stored != "":
		c.set(meta.ReadyCondition, metav1.ConditionTrue, reason, stored)
	default:
		c.set(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, "not fetched yet")
	}
	if stored != "" {
		c.set(sourcev1.ArtifactInStorageCondition, metav1.ConditionTrue, reason, stored)
	}
	if was.verify {
		c.verified(s)
	}
	c.included(s)
	return c.sorted()
}

// invalidReason is Flux's word for a spec that makes no sense, where it has one.
func (r *reading) invalidReason() string {
	switch {
	case r.HasProblem("spec.url"):
		return sourcev1.URLInvalidReason
	case r.HasProblemWithin("spec.sts"):
		return sourcev1.InvalidSTSConfigurationReason
	case r.HasProblem("spec.provider"):
		return sourcev1.InvalidProviderConfigurationReason
	case r.HasProblem(sparseField):
		return sourcev1.InvalidPathReason
	case r.HasProblem(verifyField):
		return invalidVerificationMode
	}
	return invalidSpec
}

// fetching leaves a source ready that is only looked at again.
func (c *conditions) fetching(s dialect.SourceState, observed int64) {
	const message = "fetching"
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	if observed == s.Generation && findCondition(c.had, meta.ReadyCondition) != nil {
		c.keep(meta.ReadyCondition)
		c.keep(sourcev1.FetchFailedCondition)
		c.keep(sourcev1.BuildFailedCondition)
		return
	}
	c.set(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
}

// unfetched reports a fetch that failed; one that the next look cannot mend is stalled, as in Flux.
func (c *conditions) unfetched(err error, failed string) {
	reason, message := fetchReason(err, failed), err.Error()
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	_, unverified := verificationReason(err)
	_, alone := includeReason(err)
	switch {
	case reason == string(source.ValuesFiles), reason == string(source.DependencyBuild):
		c.set(sourcev1.BuildFailedCondition, metav1.ConditionTrue, reason, message)
	case !unverified && !alone:
		c.set(sourcev1.FetchFailedCondition, metav1.ConditionTrue, reason, message)
	}
	if slices.Contains([]string{sourcev1.URLInvalidReason, string(source.ChartReference), string(source.ValuesFiles)}, reason) {
		c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
		return
	}
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// fetchReason is Flux's word; failed stands for all that it has no own word for.
func fetchReason(err error, failed string) string {
	var e *source.Error
	if errors.As(err, &e) {
		switch e.Reason {
		case source.URLInvalid:
			return sourcev1.URLInvalidReason
		case source.AuthenticationFailed:
			return sourcev1.AuthenticationFailedReason
		case source.PathEscape:
			return sourcev1.InvalidPathReason
		case source.ReadFailed:
			if failed == string(source.ChartPull) { // the tags of a chart
				return failed
			}
			return string(e.Reason)
		case source.VerificationFailed, source.VerificationError, source.EmptyRepository, source.LayerFailed, source.IndexationFailed,
			source.ChartReference, source.ChartPull, source.ValuesFiles, source.DependencyBuild, source.NoSourceArtifact, source.SourceUnavailable, source.IncludeNotFound, source.IncludeNoArtifact, source.IncludeCopyFailure, source.IncludeCycle:
			return string(e.Reason)
		default:
			return failed
		}
	}
	return failed
}

// digestForm is what the CRD of Flux's artifacts demands.
var digestForm = regexp.MustCompile(`^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$`)

// artifact describes what was fetched. Its url and path are required, and empty: truce serves no archives. The former one stays until there
// is another that Flux's schema takes.
func artifact(had *meta.Artifact, s dialect.SourceState) *meta.Artifact {
	a := s.Artifact
	same := had != nil && had.Revision == a.Revision && had.Digest == a.Digest
	if same || a.Revision == "" || !digestForm.MatchString(a.Digest) {
		return had
	}
	return &meta.Artifact{Revision: a.Revision, Digest: a.Digest, LastUpdateTime: metav1.NewTime(s.At.UTC()), Metadata: a.Metadata}
}
