package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// chartFile is the file that makes a directory a chart.
const chartFile = "Chart.yaml"

// loadChart reads the chart of a directory, or of the archive that lies at the path, with the charts in its directory charts.
func loadChart(r render.Request) (*chartv2.Chart, error) {
	files, err := chartFiles(r)
	if err != nil {
		return nil, err
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	if err := chart.Validate(); err != nil {
		return nil, err
	}
	if t := chart.Metadata.Type; t != "" && t != "application" && r.Chart.Use == release.MakeObjects { // helm-controller installs a library, of no object
		return nil, fmt.Errorf("%s charts are not installable", t)
	}
	if err := readValuesFiles(r, chart); err != nil {
		return nil, err
	}
	if m := r.Chart.Metadata; m != "" {
		chart.Metadata.Version = chartfile.WithMetadata(chart.Metadata.Version, m)
	}
	return chart, nil
}

func chartFiles(r render.Request) ([]*archive.BufferedFile, error) {
	if chartfile.IsPackaged(r.Files, r.Path) {
		return packagedFiles(r)
	}
	switch _, err := fs.Stat(r.Files, path.Join(r.Path, chartFile)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no Helm chart: it has no %s", chartFile)
	case err != nil:
		return nil, err
	}
	w := walk{request: r, left: archive.MaxDecompressedChartSize}
	if err := w.rules(); err != nil {
		return nil, err
	}
	err := w.directory("")
	return w.files, err
}

// packagedFiles are those of a chart that helm package has made.
func packagedFiles(r render.Request) ([]*archive.BufferedFile, error) {
	data, err := render.ReadFile(r.Files, r.Path, r.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	files, err := archive.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is a file, and no chart that helm package has made: %w; want that, or the directory of a chart", err)
	}
	return files, nil
}

// walk collects the files of a chart's directory as Helm does: without those of .helmignore, within the size of a chart.
type walk struct {
	request render.Request
	ignore  *ignore.Rules
	left    int64
	files   []*archive.BufferedFile
}

func (w *walk) rules() error {
	w.ignore = ignore.Empty()
	text, err := render.ReadFile(w.request.Files, path.Join(w.request.Path, ignore.HelmIgnore), w.request.Limits.FileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if w.ignore, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return err
		}
	}
	w.ignore.AddDefaults()
	return nil
}

func (w *walk) directory(dir string) error {
	entries, err := fs.ReadDir(w.request.Files, path.Join(w.request.Path, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := fs.Stat(w.request.Files, path.Join(w.request.Path, name)) // of what a link leads to
		if err != nil {
			return err
		}
		read := w.file
		switch {
		case w.ignore.Ignore(name, info):
			continue
		case info.IsDir() && e.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link to a directory, which a chart must not have", name)
		case info.IsDir():
			read = w.directory
		}
		if err := read(name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) file(name string) error {
	data, err := render.ReadFile(w.request.Files, path.Join(w.request.Path, name), w.request.Limits.FileBytes)
	if err != nil {
		return err
	}
	if w.left -= int64(len(data)); w.left < 0 {
		return fmt.Errorf("the chart is larger than %d MiB: %w", archive.MaxDecompressedChartSize>>20, render.ErrLimit)
	}
	w.files = append(w.files, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
	return nil
}

// checkDependencies refuses a chart that lacks one of the charts which it depends on (helm: action.CheckDependencies).
func checkDependencies(chart *chartv2.Chart) error {
	var missing []string
	for _, d := range chart.Metadata.Dependencies {
		if !slices.ContainsFunc(chart.Dependencies(), func(c *chartv2.Chart) bool { return c.Name() == d.Name }) {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("found in %s, but missing in charts/ directory: %s: commit what helm dependency build makes", chartFile, strings.Join(missing, ", "))
}

// isCompatible refuses a chart that is for other versions of Kubernetes.
func isCompatible(chart *chartv2.Chart, version string) error {
	if want := chart.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, version) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", want, version)
	}
	return nil
}
