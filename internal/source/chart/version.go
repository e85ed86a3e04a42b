package chart

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// chooseVersion picks a version of a chart of an index.
func chooseVersion(index *pack.Pack, c source.Chart) (version, error) {
	all, err := readIndex(index, c.Name)
	if err != nil {
		return version{}, err
	}
	if len(all.versions) == 0 {
		return version{}, transport.Failed(source.ChartReference, "the index has no chart of that name")
	}
	return newestOf(all.versions, c.Version)
}

// newestOf picks the version of exactly that text, or else the newest one of a range; of equal ones that which was made last. As in Helm a range
// without a prerelease in it means no prerelease, and what is no semantic version is only found by its text.
func newestOf(all []version, wanted string) (version, error) {
	if i := slices.IndexFunc(all, func(v version) bool { return v.Version == wanted && wanted != "" }); i >= 0 {
		return all[i], nil
	}
	within, err := semver.NewConstraint(cmp.Or(strings.TrimSpace(wanted), "*"))
	if err != nil {
		return version{}, transport.Failed(source.ChartReference, "version %.200q is neither a version of it nor a range of versions", wanted)
	}
	var best version
	var newest *semver.Version
	for _, v := range all {
		parsed, err := semver.NewVersion(v.Version)
		if err != nil || !within.Check(parsed) {
			continue
		}
		if newest == nil || cmp.Or(parsed.Compare(newest), v.Created.Compare(best.Created), cmp.Compare(v.Version, best.Version)) > 0 {
			best, newest = v, parsed
		}
	}
	if newest == nil {
		return version{}, transport.Failed(source.ChartReference, "no version of it matches %.200q", cmp.Or(wanted, "*"))
	}
	return best, nil
}

// createdAt is when a version was made; zero where that cannot be read.
func createdAt(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return v
	case string:
		t, _ := time.Parse(time.RFC3339Nano, v) // else of the zero time
		return t
	}
	return time.Time{}
}
