package flux

import (
	"errors"
	"regexp"

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
	status.Conditions = sourceConditions(r, s, status)
	if s.Running {
		return statusMap(&status)
	}
	if s.Generation != 0 {
		status.ObservedGeneration = s.Generation
	}
	if s.Err == nil && len(r.Problems) == 0 {
		status.ObservedIgnore = spec.Ignore
	}
	return statusMap(&status)
}

func sourceConditions(r *reading, s dialect.SourceState, status sourcev1.GitRepositoryStatus) []metav1.Condition {
	c := &conditions{had: status.Conditions, at: metav1.NewTime(s.At.UTC()), generation: s.Generation}
	stored := ""
	if status.Artifact != nil {
		stored = "stored artifact for revision '" + status.Artifact.Revision + "'"
	}
	switch {
	case len(r.Problems) > 0:
		reason, message := r.refusal("")
		if reason == invalidSpec && r.HasProblem("spec.url") {
			reason = sourcev1.URLInvalidReason
		}
		c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
		c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
	case s.Running:
		c.fetching(s, status)
	case s.Err != nil:
		c.unfetched(s.Err)
	case stored != "":
		c.set(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, stored)
	default:
		c.set(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, "not fetched yet")
	}
	if stored != "" {
		c.set(sourcev1.ArtifactInStorageCondition, metav1.ConditionTrue, meta.SucceededReason, stored)
	}
	return c.sorted()
}

// fetching leaves a source ready that is only looked at again.
func (c *conditions) fetching(s dialect.SourceState, status sourcev1.GitRepositoryStatus) {
	const message = "fetching"
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	if status.ObservedGeneration == s.Generation && findCondition(c.had, meta.ReadyCondition) != nil {
		c.keep(meta.ReadyCondition)
		c.keep(sourcev1.FetchFailedCondition)
		return
	}
	c.set(meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
}

// unfetched reports a fetch that failed; one that the next look cannot mend is stalled, as in Flux.
func (c *conditions) unfetched(err error) {
	reason, message := fetchReason(err), err.Error()
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(sourcev1.FetchFailedCondition, metav1.ConditionTrue, reason, message)
	if reason == sourcev1.URLInvalidReason {
		c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
		return
	}
	c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// fetchReason is Flux's word: all that it has no own word for is GitOperationFailed.
func fetchReason(err error) string {
	var e *source.Error
	if errors.As(err, &e) {
		switch e.Reason {
		case source.URLInvalid:
			return sourcev1.URLInvalidReason
		case source.AuthenticationFailed:
			return sourcev1.AuthenticationFailedReason
		case source.PathEscape:
			return sourcev1.InvalidPathReason
		default:
			return sourcev1.GitOperationFailedReason
		}
	}
	return sourcev1.GitOperationFailedReason
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
	return &meta.Artifact{Revision: a.Revision, Digest: a.Digest, LastUpdateTime: metav1.NewTime(s.At.UTC())}
}
