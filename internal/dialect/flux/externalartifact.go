package flux

import (
	"encoding/json"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	swapi "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// ExternalArtifacts translates ExternalArtifact: what another controller has made, or truce itself for an ArtifactGenerator. Its zero value is ready.
type ExternalArtifacts struct{}

var _ dialect.Sources = ExternalArtifacts{}

// externalInterval is the time between two looks at an archive that was fetched, which cost no request. A new one is an event.
const externalInterval = 10 * time.Minute

// Source reads an ExternalArtifact. Another artifact in its status is a request for a look.
func (ExternalArtifacts) Source(cr object.Object) dialect.Source {
	r := &reading{}
	r.Kind(cr, sourceAPI, externalArtifact)
	s := newSource(externalArtifact, cr)
	s.Interval, s.Request = externalInterval, "" // the annotation of a request is not of this kind's API
	if a := externalStatus(cr).Artifact; a != nil && a.URL != "" {
		s.Request = a.Revision + " " + a.Digest + " " + a.URL
	}
	s.Maker, s.MakerUID = makerOf(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

// makerOf is the ArtifactGenerator that an ExternalArtifact is made by: one of its own namespace.
func makerOf(cr object.Object) (maker app.SourceKey, uid string) {
	uid, _ = cr.Label(swapi.ArtifactGeneratorLabel)
	of, _ := cr.At("spec", "sourceRef").(map[string]any)
	ref := object.Object(of)
	namespace := ref.StringAt("namespace")
	if uid == "" || ref.StringAt("kind") != artifactGenerator || ref.StringAt("name") == "" || namespace != "" && namespace != cr.Namespace() {
		return app.SourceKey{}, ""
	}
	return app.SourceKey{Kind: artifactGenerator, Namespace: cr.Namespace(), Name: ref.StringAt("name")}, uid
}

func externalStatus(cr object.Object) externalArtifactStatus {
	var status externalArtifactStatus
	reader.DecodeStatus(cr, &status)
	return status
}

// Spec says what to fetch: what the status names.
func (x ExternalArtifacts) Spec(cr object.Object, _ source.Secrets) (source.Spec, error) {
	s := x.Source(cr)
	if len(s.Problems) > 0 {
		return source.Spec{}, refusedSource(s.Key, source.NotSupported, sentences(s.Problems))
	}
	a := externalStatus(cr).Artifact
	switch {
	case a == nil || a.URL == "":
		return source.Spec{}, refusedSource(s.Key, source.ReadFailed, "its controller has written no status.artifact yet")
	case a.Digest == "":
		return source.Spec{}, refusedSource(s.Key, source.ReadFailed, "status.artifact has no digest")
	}
	return source.Spec{
		Kind: source.Archive, URL: a.URL, Ref: source.Ref{Name: a.Digest, Tag: a.Revision}, Whole: true, Timeout: s.Timeout, Origin: a.Metadata[source.OriginRevision],
	}, nil
}

// Status is that of an artifact which truce has made. Else it is nothing: another controller writes it, and the apps report the result of a fetch.
func (ExternalArtifacts) Status(cr object.Object, s dialect.SourceState) map[string]any {
	if !s.Made {
		return nil
	}
	status := externalStatus(cr)
	status.Artifact, status.ExportedInputs = artifact(status.Artifact, s), nil
	if s.Inputs != "" {
		_ = json.Unmarshal([]byte(s.Inputs), &status.ExportedInputs) // it is JSON that truce has written
	}
	c := &conditions{had: status.Conditions, at: metav1.NewTime(s.At.UTC()), generation: s.Generation}
	if s.Err != nil {
		c.set(meta.ReadyCondition, metav1.ConditionFalse, fetchReason(s.Err, meta.ReconciliationFailedReason), s.Err.Error())
	} else {
		c.set(meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, "made artifact '"+s.Artifact.Revision+"'")
	}
	status.Conditions = c.sorted()
	return statusMap(&status)
}
