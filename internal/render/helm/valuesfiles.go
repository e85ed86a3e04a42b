package helm

import (
	"strings"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
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

// isVersion reports whether a stored chart has the version of this one. That of a chart with values files ends with +N where helm-controller has made
// the release: the generation of the HelmChart.
func (b *build) isVersion(stored string) bool {
	version := b.chart.Metadata.Version
	if b.valuesFiles() != "" && !strings.Contains(version, "+") {
		stored, _, _ = strings.Cut(stored, "+")
	}
	return stored == version
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
