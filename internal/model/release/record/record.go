// Package record answers: what is remembered of what a Helm release was made of?
//
// In: a release, while it is the newest one.
// Out: values, as custom resources and this process keep them.
// Promise: none of them changes when the next release is made.
// Not here: the releases that are stored (apply/releases), how they have ended (release).
package record

import "time"

// Content is what a release is made of.
type Content struct {
	// Chart, Version and AppVersion are the chart's; Config identifies the values, and Digest all of it.
	Chart, Version, AppVersion, Config, Digest string
	First, Last                                time.Time // when the name, and this release, was deployed
}

// Former is one that another replaces: it is uninstalled.
type Former struct {
	Name, Namespace, Storage string
	Known                    map[int]string // the digests of its releases, by revision, as the custom resource remembers them
}

// History says what becomes of the stored releases at an uninstall.
type History string

// The values of History.
const (
	DeleteHistory History = ""
	KeepHistory   History = "keep" // as helm uninstall --keep-history does: the newest release is uninstalled, the others stay as they are
)
