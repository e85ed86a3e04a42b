package chartfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Dependency is a chart that another one names in its Chart.yaml, or in its lock file. Its JSON is Helm's, of which a lock file has the digest.
type Dependency struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"` // or a range of versions
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

// Charts are the charts that a chart has in its directory of them.
const Charts = "charts"

const localScheme = "file://"

// mostDependencies bounds the charts that one chart may name.
const mostDependencies = 64

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	archiveEnd = regexp.MustCompile(`^-v?[0-9].*\.tgz$`)
	versionEnd = regexp.MustCompile(`-v?[0-9].*\.tgz$`)
)

// IsLocal reports whether the dependency is a directory beside the chart.
func (d Dependency) IsLocal() bool { return strings.HasPrefix(d.Repository, localScheme) }

// Local returns the directory of a local dependency of the chart in dir. It is in the same tree.
func (d Dependency) Local(dir string) (string, error) {
	rest := strings.TrimPrefix(d.Repository, localScheme)
	out := path.Join(dir, rest)
	if rest == "" || path.IsAbs(rest) || !fs.ValidPath(out) {
		return "", fmt.Errorf("%.200q does not lead to a directory of the same source: want file:// and a path from the chart, such as file://../lib", d.Repository)
	}
	return out, nil
}

// Admits reports whether a version is one that the dependency asks for.
func (d Dependency) Admits(version string) bool {
	if d.Version == "" {
		return true
	}
	want, err := semver.NewConstraint(d.Version)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && want.Check(v)
}

// IsExact reports whether the dependency asks for one version.
func (d Dependency) IsExact() bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(d.Version, "v"))
	return err == nil
}

// check refuses what does not say where a chart is.
func (d Dependency) check() error {
	switch {
	case !nameForm.MatchString(d.Name):
		return fmt.Errorf("dependency %.100q: this is no name of a chart", d.Name)
	case d.Repository == "":
		return fmt.Errorf("dependency %s is missing in charts/, and names no repository: commit the chart to charts/%s, or set its repository", d.Name, d.Name)
	case strings.HasPrefix(d.Repository, "@"), strings.HasPrefix(d.Repository, "alias:"):
		return fmt.Errorf("dependency %s: the repository %.100q is the name that a repository has on one machine: write its URL", d.Name, d.Repository)
	}
	return nil
}

// manifest is what is read of a Chart.yaml or requirements.yaml, lock of the file beside it.
type manifest struct {
	APIVersion   string       `json:"apiVersion"`
	Dependencies []Dependency `json:"dependencies"`
}

type lock struct {
	Digest       string       `json:"digest"`
	Dependencies []Dependency `json:"dependencies"`
}

// MissingDependencies returns the dependencies of the chart in dir that are not in its directory charts: as its lock file has them, where there is one.
// A packaged chart is taken as it is, as in Flux.
func MissingDependencies(files fs.FS, dir string) ([]Dependency, error) {
	if IsPackaged(files, dir) {
		return nil, nil
	}
	var of manifest
	if err := readYAML(files, path.Join(dir, FileName), &of); err != nil {
		return nil, err
	}
	locked := "Chart.lock"
	wanted := FileName
	if of.APIVersion == "v1" {
		of.Dependencies, wanted, locked = nil, "requirements.yaml", "requirements.lock"
		if err := readYAML(files, path.Join(dir, wanted), &of); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	missing, err := missingCharts(files, path.Join(dir, Charts), of.Dependencies)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	var l lock
	switch err := readYAML(files, path.Join(dir, locked), &l); {
	case err == nil && !l.isOf(of.Dependencies):
		return nil, fmt.Errorf("%s is out of sync with %s: run helm dependency update, and commit what it writes", locked, wanted)
	case err == nil:
		if missing, err = missingCharts(files, path.Join(dir, Charts), l.Dependencies); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return missing, checkAll(missing, wanted)
}

// checkAll refuses dependencies that a file of the chart names if one of them does not say where a chart is, or there are too many.
func checkAll(missing []Dependency, in string) error {
	if len(missing) > mostDependencies {
		return fmt.Errorf("%s names more than %d dependencies that are not in charts/", in, mostDependencies)
	}
	for _, d := range missing {
		if err := d.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkDependencies refuses a chart whose files show that what it depends on cannot be brought. Repositories are not asked.
func checkDependencies(files fs.FS, dir string) error {
	missing, err := MissingDependencies(files, dir)
	if err != nil {
		return refusal(source.DependencyBuild, "%w", err)
	}
	for _, d := range missing {
		if !d.IsLocal() {
			continue
		}
		at, err := d.Local(dir)
		if err == nil {
			err = d.CheckAt(files, at)
		}
		if err != nil {
			return refusal(source.DependencyBuild, "dependency %s of %s: %w", d.Name, FileName, err)
		}
	}
	return nil
}

// CheckAt returns why the chart in a directory is not the one that is meant; nil if it is.
func (d Dependency) CheckAt(files fs.FS, dir string) error {
	if IsPackaged(files, dir) {
		return fmt.Errorf("%s is no directory: name the directory of the chart, or commit the packaged chart to charts/", dir)
	}
	meta, err := ReadMetadata(files, dir)
	switch {
	case err != nil:
		return err
	case meta.Name != d.Name:
		return fmt.Errorf("the chart there is called %.100q", meta.Name)
	case !d.Admits(meta.Version):
		return fmt.Errorf("the chart there has the version %s, which is not %s", meta.Version, d.Version)
	}
	return nil
}

// isOf reports whether a lock file was made for these dependencies.
func (l lock) isOf(wanted []Dependency) bool {
	return l.Digest == jsonDigest([2][]Dependency{wanted, l.Dependencies}) || l.Digest == jsonDigest(map[string][]Dependency{"dependencies": wanted}) // of Helm 2
}

func jsonDigest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "none"
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// missingCharts returns those of the dependencies of which no chart is in a directory, each chart once.
func missingCharts(files fs.FS, dir string, all []Dependency) ([]Dependency, error) {
	if len(all) == 0 {
		return nil, nil
	}
	entries, err := fs.ReadDir(files, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names, archives []string
	for _, e := range entries {
		var meta Metadata
		switch err := readYAML(files, path.Join(dir, e.Name(), FileName), &meta); {
		case err == nil:
			names = append(names, meta.Name)
		case strings.HasSuffix(e.Name(), ".tgz") && !versionEnd.MatchString(e.Name()):
			return nil, nil // which chart is in it, is the renderer's to find out
		case strings.HasSuffix(e.Name(), ".tgz"):
			archives = append(archives, e.Name())
		}
	}
	var out []Dependency
	seen := map[[3]string]bool{}
	for _, d := range all {
		id := [3]string{d.Name, d.Version, d.Repository}
		if !seen[id] && !isAmong(d.Name, names, archives) {
			out = append(out, d)
		}
		seen[id] = true
	}
	return out, nil
}

func isAmong(name string, names, archives []string) bool {
	return slices.Contains(names, name) || slices.ContainsFunc(archives, func(a string) bool {
		rest, ok := strings.CutPrefix(a, name)
		return ok && archiveEnd.MatchString(rest)
	})
}

func readYAML(files fs.FS, name string, into any) error {
	text, err := readFile(files, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", upstream.DisplayName(name, 0, 0), err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", upstream.DisplayName(name, 0, 0), err)
	}
	return nil
}
