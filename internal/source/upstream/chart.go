package upstream

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// chartScheme marks, in the path at which a tree holds it, a chart of a repository of charts: the last part of the path is its name.
const chartScheme = "-chart"

var (
	chartForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	// exactVersion is one version of a chart. Everything else is a range.
	exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

	// namedForm is a tag or a digest of a registry, as references to its artifacts have it.
	namedForm = regexp.MustCompile(`^(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]{64})$`)

	errRepository = errors.New("want https:// or oci:// and the address of a repository of charts, without a query")
	errChartName  = errors.New("this is no name of a chart in a repository")
)

// ParseChart reads where a chart is, as helmCharts of a kustomization says it. An empty version is the newest one; else it is a version, or a range; of a
// registry also a tag that is no version, as in ":latest", or a digest, as in "@sha256:…".
func ParseChart(repository, name, version string) (Address, error) {
	u, err := url.Parse(strings.TrimSpace(repository))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci" || u.RawQuery != "" || u.Fragment != "":
		return Address{}, errRepository
	case u.User != nil:
		return Address{}, errCredentials
	case !chartForm.MatchString(name):
		return Address{}, errChartName
	}
	a := Address{URL: u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), Ref: strings.TrimSpace(version), Dir: ".", Chart: name}
	if back, ok := AddressOf(a.Name()); !ok || back != a {
		return Address{}, errShape
	}
	return a, nil
}

// chartString is the address of a chart as a person reads it.
func (a Address) chartString() string {
	out := "chart " + a.Chart
	switch {
	case namedForm.MatchString(a.Ref):
		out += a.Ref
	case a.Ref != "":
		out += " " + a.Ref
	}
	return out + " of " + a.URL
}
