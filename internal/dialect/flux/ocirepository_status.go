package flux

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Status returns the status of an OCIRepository after a fetch, or during one.
func (OCIRepositories) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status sourcev1.OCIRepositoryStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	r := &reading{}
	_, spec := r.ociSource(cr)
	status.Artifact = artifact(status.Artifact, s)
	status.Conditions = sourceConditions(r, s, lastFetch{
		conditions: status.Conditions, artifact: status.Artifact, observed: status.ObservedGeneration,
		stored: "stored artifact for digest", failed: sourcev1.OCIPullFailedReason, verify: spec.Verify != nil,
	})
	if s.Running {
		return statusMap(&status)
	}
	if s.Generation != 0 {
		status.ObservedGeneration = s.Generation
	}
	if s.Err == nil && len(r.Problems) == 0 {
		status.ObservedIgnore, status.ObservedLayerSelector = spec.Ignore, spec.LayerSelector
	}
	return statusMap(&status)
}
