package flux

import (
	"errors"
	"fmt"
	"maps"

	"github.com/fluxcd/pkg/apis/meta"
	swapi "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/recipe"
)

// Status returns the status of an ArtifactGenerator after a look at its sources.
func (ArtifactGenerators) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status swapi.ArtifactGeneratorStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	problems := ArtifactGenerators{}.Source(cr).Problems
	c := &conditions{had: status.Conditions, at: metav1.NewTime(s.At.UTC()), generation: s.Generation}
	switch {
	case len(problems) > 0:
		c.stall(swapi.ValidationFailedReason, sentences(problems))
	case s.Err != nil && generatorReason(s.Err) == swapi.AccessDeniedReason:
		c.stall(swapi.AccessDeniedReason, s.Err.Error())
	case s.Err != nil:
		c.set(meta.ReadyCondition, metav1.ConditionFalse, generatorReason(s.Err), s.Err.Error())
		c.set(meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, s.Err.Error())
	default:
		c.set(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, fmt.Sprintf("reconciliation succeeded, generated %d artifact(s)", len(s.Generated.Made)))
	}
	status.Conditions = c.sorted()
	if s.Err == nil && len(problems) == 0 {
		status.ObservedSourcesDigest = observedSources(s.Generated)
		status.Inventory = nil
		for _, m := range s.Generated.Made {
			status.Inventory = append(status.Inventory, swapi.ExternalArtifactReference{Name: m.Name, Namespace: cr.Namespace(), Digest: m.Artifact.Digest})
		}
	}
	return statusMap(&status)
}

// stall reports what no further try can mend.
func (c *conditions) stall(reason, message string) {
	c.set(meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	c.set(meta.StalledCondition, metav1.ConditionTrue, reason, message)
}

func generatorReason(err error) string {
	var e *source.Error
	if errors.As(err, &e) {
		switch e.Reason {
		case source.AccessDenied, source.SourceFetchFailed, source.BuildFailed, source.ReconcileFailed:
			return string(e.Reason)
		default:
		}
	}
	return meta.ReconciliationFailedReason
}

func observedSources(r recipe.Result) string {
	all := map[string]swapi.ObservedSource{}
	for alias, a := range r.Sources {
		all[alias] = swapi.ObservedSource{Digest: a.Digest, Revision: a.Revision, OriginRevision: a.Metadata[source.OriginRevision]}
	}
	return swapi.HashObservedSources(all)
}

// MadeArtifact returns the ExternalArtifact for an artifact that an ArtifactGenerator makes, as Flux's source-watcher has it.
func (ArtifactGenerators) MadeArtifact(cr object.Object, by recipe.Recipe, m recipe.Made) object.Object {
	labels := maps.Clone(m.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, by.Labels)
	labels["app.kubernetes.io/managed-by"] = "truce"
	labels[swapi.ArtifactGeneratorLabel] = cr.UID()
	about := map[string]any{
		"name": m.Name, "namespace": cr.Namespace(), "labels": untypedMap(labels),
		"ownerReferences": []any{map[string]any{
			"apiVersion": generatorAPI, "kind": artifactGenerator, "name": cr.Name(), "uid": cr.UID(), "controller": true, "blockOwnerDeletion": true,
		}},
	}
	if len(by.Annotations) > 0 {
		about["annotations"] = untypedMap(by.Annotations)
	}
	return object.Object{
		"apiVersion": sourceAPI, "kind": externalArtifact, "metadata": about,
		"spec": map[string]any{"sourceRef": map[string]any{"apiVersion": generatorAPI, "kind": artifactGenerator, "name": cr.Name(), "namespace": cr.Namespace()}},
	}
}

func untypedMap(from map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range from {
		out[k] = v
	}
	return out
}
