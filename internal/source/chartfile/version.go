package chartfile

import (
	"strings"

	"github.com/Masterminds/semver/v3"
)

// WithMetadata is the version of a chart with this build metadata in the place of its own, as Flux writes it: in the form of semantic versions, which know
// no "v" at the front.
func WithMetadata(version, metadata string) string {
	if v, err := semver.NewVersion(version); err == nil {
		if with, err := v.SetMetadata(metadata); err == nil {
			return with.String()
		}
	}
	version, _, _ = strings.Cut(version, "+")
	return version + "+" + metadata
}

// WithoutMetadata is the version of a chart without build metadata, in the form of semantic versions.
func WithoutMetadata(version string) string {
	version, _, _ = strings.Cut(WithMetadata(version, ""), "+")
	return version
}

// IsSameVersion reports whether two versions are one but for the form: a "v" at the front of one of them makes no difference, build metadata does.
func IsSameVersion(a, b string) bool {
	if a == b {
		return true
	}
	_, ofA, _ := strings.Cut(a, "+")
	_, ofB, _ := strings.Cut(b, "+")
	return ofA == ofB && WithoutMetadata(a) == WithoutMetadata(b)
}
