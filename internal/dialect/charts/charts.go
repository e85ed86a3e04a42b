// Package charts answers: what is fetched for one chart of a source that holds many?
//
// In: what is fetched for the source itself, the key of the chart, and the Secrets that were read for it.
// Out: a source.Spec.
// Promise: pure; what must be signed is fetched with what its signature is verified by, or not at all.
// Not here: which chart an app names (dialect/flux), fetching (source/chart, source/oci).
package charts

import (
	"errors"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// ChartSpecOf says what to fetch for one chart of a source, given what to fetch for the source itself, of which index is the revision that is known. An
// error is a *source.Error.
func ChartSpecOf(spec source.Spec, key app.SourceKey, index string, secrets source.Secrets) (source.Spec, error) {
	switch spec.Kind {
	case source.HelmRepository:
		if key.Verify != (signing.Wanted{}) {
			return spec, chartError(key, source.NotSupported, "the signature of a chart is checked where it is in an OCI registry: spec.verify wants a HelmRepository with type: oci")
		}
		spec = chartfile.ChartSpec(spec, key.Chart, key.Version)
		spec.Chart.Index = index
		return spec, nil
	case source.OCI:
	default:
		return spec, chartError(key, source.NotSupported, "it holds no charts by name")
	}
	spec = chartfile.ChartSpec(spec, key.Chart, key.Version)
	var err error
	spec.Verify, err = VerificationOf(key, key.Verify, secrets)
	return spec, err
}

func chartError(key app.SourceKey, reason source.Reason, why string) error {
	return &source.Error{Op: "read", Subject: key.String(), Reason: reason, Err: errors.New(why)}
}
