// Package charts answers: what is fetched for one chart of a source that holds many?
//
// In: what is fetched for the source itself, the key of the chart, and the Secrets that were read for it.
// Out: a source.Spec.
// Promise: pure; what must be signed is fetched with what its signature is verified by, or not at all.
// Not here: which chart an app names (dialect/flux), fetching (source/chart, source/oci).
package charts

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// layerType is the media type of the archive in a chart's artifact of a registry.
const layerType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// exactForm is one version. Everything else is a range.
var exactForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// ChartSpecOf says what to fetch for one chart of a source, given what to fetch for the source itself, of which index is the revision that is known. An
// error is a *source.Error.
func ChartSpecOf(spec source.Spec, key app.SourceKey, index string, secrets source.Secrets) (source.Spec, error) {
	switch spec.Kind {
	case source.HelmRepository:
		if key.Verify != (signing.Wanted{}) {
			return spec, chartError(key, source.NotSupported, "the signature of a chart is checked where it is in an OCI registry: spec.verify wants a HelmRepository with type: oci")
		}
		spec.Chart.Name, spec.Chart.Version, spec.Chart.Index = key.Chart, key.Version, index
		return spec, nil
	case source.OCI:
	default:
		return spec, chartError(key, source.NotSupported, "it holds no charts by name")
	}
	spec.URL = strings.TrimSuffix(spec.URL, "/") + "/" + strings.Trim(key.Chart, "/")
	spec.MediaType, spec.Whole = layerType, true
	spec.Ref = source.Ref{SemVer: cmp.Or(key.Version, "*")}
	if exactForm.MatchString(key.Version) {
		spec.Ref = source.Ref{Tag: strings.ReplaceAll(key.Version, "+", "_")} // as Helm writes a tag, which may have no "+"
	}
	var err error
	spec.Verify, err = VerificationOf(key, key.Verify, secrets)
	return spec, err
}

// AddressOf is the address of a repository of charts, in one form.
func AddressOf(repository string) string {
	return strings.TrimRight(strings.TrimSpace(repository), "/")
}

// DependencySpecOf says what to fetch for a chart that another one depends on, without credentials. An error is a *source.Error.
func DependencySpecOf(d chartfile.Dependency) (source.Spec, error) {
	key := app.SourceKey{Kind: "chart", Name: d.Name, Chart: d.Name, Version: d.Version}
	spec := source.Spec{Kind: source.HelmRepository, URL: AddressOf(d.Repository), Timeout: source.DefaultTimeout}
	u, err := url.Parse(spec.URL)
	switch {
	case err != nil || u.Hostname() == "":
		return spec, chartError(key, source.URLInvalid, "its repository is no address: want https:// or oci://, or file:// and a path from the chart")
	case u.User != nil:
		return spec, chartError(key, source.URLInvalid, "the address of its repository holds credentials, which everybody who reads the source can see: put them into a HelmRepository of that URL")
	case u.Scheme == "oci":
		spec.Kind = source.OCI
	case u.Scheme != "https" && u.Scheme != "http":
		return spec, chartError(key, source.NotSupported, "its repository is neither https:// nor oci://, nor file:// and a path from the chart")
	}
	return ChartSpecOf(spec, key, "", source.Secrets{})
}

func chartError(key app.SourceKey, reason source.Reason, why string) error {
	return &source.Error{Op: "read", Subject: key.String(), Reason: reason, Err: errors.New(why)}
}
