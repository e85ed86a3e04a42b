package chartfile

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// LayerType is the media type of the archive in a chart's artifact of a registry.
const LayerType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// exactForm is one version. Everything else is a range.
var exactForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// IsExact reports whether a version of a chart is one, and no range.
func IsExact(version string) bool {
	return exactForm.MatchString(version) || strings.HasPrefix(version, "@")
}

// ChartSpec says what to fetch for one chart of a repository, given what to fetch for the repository itself: a registry (source.OCI), or one with an index.
// A version of a registry's may also be a tag, as in ":latest", or a digest, as in "@sha256:…".
func ChartSpec(repository source.Spec, name, version string) source.Spec {
	out := repository
	if out.Kind != source.OCI {
		out.Chart.Name, out.Chart.Version = name, version
		return out
	}
	out.URL = strings.TrimSuffix(out.URL, "/") + "/" + strings.Trim(name, "/")
	out.MediaType, out.Whole, out.PlusTags = LayerType, true, true
	tag, tagged := strings.CutPrefix(version, ":")
	digest, pinned := strings.CutPrefix(version, "@")
	switch {
	case tagged:
		out.Ref = source.Ref{Tag: tag}
	case pinned:
		out.Ref = source.Ref{Name: digest}
	case exactForm.MatchString(version):
		out.Ref = source.Ref{Tag: strings.ReplaceAll(version, "+", "_")} // as Helm writes a tag, which may have no "+"
	default:
		out.Ref = source.Ref{SemVer: cmp.Or(version, "*")}
	}
	return out
}

// RepositoryAddress is the address of a repository of charts, in one form.
func RepositoryAddress(repository string) string {
	return strings.TrimRight(strings.TrimSpace(repository), "/")
}

// Spec says what to fetch for the dependency, without credentials. An error is a *source.Error.
func (d Dependency) Spec() (source.Spec, error) {
	spec := source.Spec{Kind: source.HelmRepository, URL: RepositoryAddress(d.Repository), Timeout: source.DefaultTimeout}
	u, err := url.Parse(spec.URL)
	fail := func(reason source.Reason, why string) (source.Spec, error) {
		return spec, &source.Error{Op: "read", Subject: "chart " + d.Name, Reason: reason, Err: errors.New(why)}
	}
	switch {
	case err != nil || u.Hostname() == "":
		return fail(source.URLInvalid, "its repository is no address: want https:// or oci://, or file:// and a path from the chart")
	case u.User != nil:
		return fail(source.URLInvalid, "the address of its repository holds credentials, which everybody who reads the source can see: put them into a HelmRepository of that URL")
	case u.Scheme == "oci":
		spec.Kind = source.OCI
	case u.Scheme != "https" && u.Scheme != "http":
		return fail(source.NotSupported, "its repository is neither https:// nor oci://, nor file:// and a path from the chart")
	}
	return ChartSpec(spec, d.Name, d.Version), nil
}
