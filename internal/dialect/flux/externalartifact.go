package flux

import (
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// ExternalArtifacts translates ExternalArtifact, of which another controller writes the status. Its zero value is ready.
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
	if a := externalStatus(cr).Artifact; a != nil {
		s.Request = a.Revision + " " + a.Digest + " " + a.URL
	}
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func externalStatus(cr object.Object) sourcev1.ExternalArtifactStatus {
	var status sourcev1.ExternalArtifactStatus
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

// Status is nothing: another controller writes it, and the apps report the result of a fetch.
func (ExternalArtifacts) Status(object.Object, dialect.SourceState) map[string]any { return nil }
