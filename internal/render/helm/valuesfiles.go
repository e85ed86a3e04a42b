package helm

import (
	"strings"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// filesKey is the annotation of a stored chart with the values files that have replaced its values. Neither its version nor the values of the release
// say which they are.
const filesKey = "truce.dev/values-files"

func (b *build) valuesFiles() string { return strings.Join(b.request.Chart.Files, ",") }

func (b *build) noteValuesFiles(chart *chartv2.Chart) {
	if b.valuesFiles() == "" {
		return
	}
	if chart.Metadata.Annotations == nil {
		chart.Metadata.Annotations = map[string]string{}
	}
	chart.Metadata.Annotations[filesKey] = b.valuesFiles()
}

// isVersion reports whether a stored chart has the version of this one. Where the version has the source's revision as its build metadata, the release may be
// an older one of truce, which left a "v" at the front. That of a chart with values files ends with the generation of the HelmChart where helm-controller has
// made the release, in the place of other build metadata or behind the source's revision.
func (b *build) isVersion(stored *chartv2.Metadata) bool {
	version := b.chart.Metadata.Version
	_, own := stored.Annotations[filesKey]
	switch {
	case stored.Version == version:
		return true
	case b.request.Chart.Metadata != "":
		isOfFiles := b.valuesFiles() != "" && !own && strings.HasPrefix(stored.Version, version+".")
		return isOfFiles || chartfile.IsSameVersion(stored.Version, version)
	case b.valuesFiles() == "" || own && strings.Contains(version, "+"):
		return false
	}
	return chartfile.WithoutMetadata(stored.Version) == chartfile.WithoutMetadata(version)
}

// hasValuesFilesOf reports whether a release is of the values files that are asked for. One that others have stored does not name them: its chart has
// the same values then.
func (b *build) hasValuesFilesOf(r *releasev1.Release) bool {
	files, known := r.Chart.Metadata.Annotations[filesKey]
	switch {
	case known || b.valuesFiles() == "":
		return files == b.valuesFiles()
	case b.former != nil: // whose values take the place of those of files
		return true
	}
	chart, err := b.processedChart()
	if err != nil {
		return false // the render says it
	}
	return digestOf(chart.Values) == digestOf(r.Chart.Values)
}
