// Package record answers: what is remembered of a Helm release that another one has followed?
//
// In: what a release was made of, and how it has ended.
// Out: values, as custom resources and this process keep them.
// Promise: none of them changes when the next release is made.
// Not here: the releases that are stored (apply/releases), the newest one (release).
package record

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// Content is what a release is made of.
type Content struct {
	// Chart, Version and AppVersion are the chart's; Config identifies the values, and Digest all of it.
	Chart, Version, AppVersion, Config, Digest string
	First, Last                                time.Time // when the name, and this release, was deployed
}

// Past is an earlier release, and how it has ended.
type Past struct {
	Content // zero where this process did not make it
	Status  hook.Status
	Action  hook.Step // that has made it
	Tests   []hook.TestRun
}

// Former is one that another replaces: it is uninstalled.
type Former struct {
	Name, Namespace, Storage string
	Known                    map[int]string // the digests of its releases, by revision, as the custom resource remembers them
}
