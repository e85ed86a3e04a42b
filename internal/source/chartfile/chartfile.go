// Package chartfile answers: which Helm chart is in a directory of a source's files, and what does it say of itself?
//
// In: an artifact, and the directory or packaged chart, values files and strategy that a HelmChart names.
// Out: what Chart.yaml says; the artifact of the HelmChart, over the same files.
// Promise: no file is written or copied; what is not a chart is an error with Flux's reason; a Chart.yaml is read up to 1 MiB.
// Not here: which chart an app names (dialect/flux), what its templates render (render/helm).
package chartfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release/chart"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Metadata is what is read of a Chart.yaml.
type Metadata struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
}

// FileName is the file that makes a directory a chart.
const FileName = "Chart.yaml"

const longestFile = 1 << 20

var errNoChart = errors.New("the artifact holds no Helm chart: no Chart.yaml at its top, nor in a directory there")

// DirectoryOf returns the directory of the chart in files at whose top it is, or which have it in one directory there, as archives of charts do. Several
// directories with a chart are an error: none of them is the one that is meant.
func DirectoryOf(files fs.FS) (string, error) {
	if _, err := fs.Stat(files, FileName); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return ".", err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return "", err
	}
	found := ""
	for _, e := range entries {
		switch _, err := fs.Stat(files, path.Join(e.Name(), FileName)); {
		case err != nil:
			continue
		case found != "":
			return "", fmt.Errorf("the artifact holds several Helm charts, in %q and %q: want the archive of one", found, e.Name())
		}
		found = e.Name()
	}
	if found == "" {
		return "", errNoChart
	}
	return found, nil
}

// ReadMetadata reads the Chart.yaml of a directory, or of the packaged chart that lies there.
func ReadMetadata(files fs.FS, dir string) (Metadata, error) {
	name := path.Join(dir, FileName)
	read := readFile
	if IsPackaged(files, dir) {
		read = readPackaged
	}
	text, err := read(files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Metadata{}, refusal(source.ChartReference, "there is no chart in %q: it has no %s", dir, FileName)
	case err != nil:
		return Metadata{}, refusal(source.ChartReference, "read %s: %w", upstream.DisplayName(name, 0, 0), err)
	}
	var out Metadata
	if err := yaml.Unmarshal(text, &out); err != nil {
		return Metadata{}, refusal(source.ChartReference, "read %s: %w", upstream.DisplayName(name, 0, 0), err)
	}
	if out.Name == "" {
		return Metadata{}, refusal(source.ChartReference, "%s has no name", name)
	}
	if _, err := semver.NewVersion(out.Version); err != nil {
		return Metadata{}, refusal(source.ChartReference, "%s: version %.100q is no semantic version", name, out.Version)
	}
	return out, nil
}

func readFile(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a directory")
	case info.Size() > longestFile:
		return nil, fmt.Errorf("has %d bytes, more than %d", info.Size(), longestFile)
	}
	return fs.ReadFile(files, name)
}

// Choice says which chart of an artifact is meant, and with which values (spec of a HelmChart).
type Choice struct {
	// From is the source that the chart is of, with the chart's name and version where it is of a repository of charts.
	From app.SourceKey
	// Directory is the chart's in a source of files, or the packaged chart there; empty for the one chart of an archive.
	Directory string
	// Values are files that replace the chart's own values: from the top of a source of files, or from the chart's directory in an archive.
	Values []string
	// SkipMissing leaves out values files that are not there.
	SkipMissing bool
	// ByRevision makes every revision of the source a version of the chart (reconcileStrategy: Revision). Else only another version in Chart.yaml is one.
	ByRevision bool
	// Generation is that of the custom resource.
	Generation int64
}

// Of returns the artifact of a HelmChart: a chart of another source's artifact, over the same files. Its Revision is the version of the chart, with what the
// Choice adds to it.
func (c Choice) Of(from source.Artifact) (source.Artifact, error) {
	out := from
	dir := c.Directory
	if dir == "" {
		var err error
		if dir, err = DirectoryOf(from.Files); err != nil {
			return out, refusal(source.ChartReference, "%w", err)
		}
	}
	meta, err := ReadMetadata(from.Files, dir)
	if err != nil {
		return out, err
	}
	if err := checkDependencies(from.Files, dir); err != nil {
		return out, err
	}
	out.Chart = chart.Files{Name: meta.Name, Version: meta.Version, Directory: dir, Origin: from.Revision}
	if err := c.addValues(from.Files, &out.Chart); err != nil {
		return out, err
	}
	out.Chart.Metadata = c.metadata(from)
	out.Revision = meta.Version
	if m := out.Chart.Metadata; m != "" {
		out.Revision = WithMetadata(meta.Version, m)
	}
	out.Digest, err = digestOf(from.Files, out.Chart)
	return out, err
}

// addValues finds the values files.
func (c Choice) addValues(files fs.FS, into *chart.Files) error {
	for _, name := range c.Values {
		if c.Directory == "" {
			name = path.Join(into.Directory, name)
		}
		info, err := fs.Stat(files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && c.SkipMissing:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return refusal(source.ValuesFiles, "values file %q is not there", name)
		case err != nil:
			return refusal(source.ValuesFiles, "values file %q: %w", name, err)
		case info.IsDir():
			return refusal(source.ValuesFiles, "values file %q is a directory", name)
		}
		into.Values = append(into.Values, name)
	}
	return nil
}

// metadata is what the version of the chart is extended by, as in Flux: by twelve digits of the source's revision, and with values files by the
// generation of the custom resource, whose change is another chart.
func (c Choice) metadata(from source.Artifact) string {
	out := ""
	if c.ByRevision && c.Directory != "" {
		out = from.Commit[:min(12, len(from.Commit))]
	}
	if len(c.Values) == 0 {
		return out
	}
	generation := strconv.FormatInt(c.Generation, 10)
	if out == "" {
		return generation
	}
	return out + "." + generation
}

// IsKept reports whether the former artifact of a HelmChart stays, though the source has a new one: of the same version of the chart in a directory.
func (c Choice) IsKept(former, next source.Artifact) bool {
	return former.Files != nil && c.Directory != "" && !c.ByRevision && former.Revision == next.Revision && former.Chart.Name == next.Chart.Name &&
		former.Chart.Directory == next.Chart.Directory && len(former.Chart.Values) == len(next.Chart.Values)
}

// digestOf identifies the chart's directory and its values files.
func digestOf(files source.Tree, of chart.Files) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q", of.Name, of.Metadata) // a hash takes everything
	for _, name := range append([]string{of.Directory}, of.Values...) {
		one, err := files.Sum(name)
		if err != nil {
			return "", refusal(source.ChartReference, "%w", err)
		}
		_, _ = fmt.Fprintf(sum, " %q %s", name, one)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func refusal(reason source.Reason, format string, args ...any) error {
	return &source.Error{Op: "read", Subject: "chart", Reason: cmp.Or(reason, source.ChartReference), Err: fmt.Errorf(format, args...)}
}
