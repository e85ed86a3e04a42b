// Package remedy answers: what follows the failure of an action of Helm?
//
// In: nothing; dialects fill it in.
// Out: Remedy, and the words for how an action has ended and why nothing more is done about a failure.
// Promise: pure.
// Not here: which action is next (decide/lifecycle).
package remedy

import "strings"

// Remedy says what follows the failure of an action.
type Remedy struct {
	OnFailure OnFailure
	// Retries is how often the action is tried again after it was remedied; negative for without end.
	Retries int64
	// Last says whether a failure is remedied that no retry follows.
	Last LastFailure
	// Tests says whether failed tests are a failure of the action.
	Tests TestFailures
}

// OnFailure is what follows a failure.
type OnFailure string

// LastFailure says whether a failure is remedied that no retry follows.
type LastFailure string

// TestFailures says whether failed tests are a failure of the action.
type TestFailures string

// TestPolicy says whether tests are run.
type TestPolicy string

// The values of OnFailure, LastFailure, TestFailures and TestPolicy.
const (
	RollBackOnFailure  OnFailure = "rollback"
	UninstallOnFailure OnFailure = "uninstall"
	RetryOnFailure     OnFailure = "retry" // an upgrade, without an end

	KeepLast   LastFailure = ""
	RemedyLast LastFailure = "remedy"

	CountTests  TestFailures = ""
	IgnoreTests TestFailures = "ignore"

	SkipTests TestPolicy = ""
	RunTests  TestPolicy = "run"
)

// Renamed says what is done about a chart of another name than the one that is released.
type Renamed string

// The values of Renamed.
const (
	UpgradeRenamed Renamed = ""          // it is an upgrade like others
	Reinstall      Renamed = "reinstall" // the release is uninstalled before
)

// Filter leaves tests out, by the name of the hook.
type Filter struct {
	Name string
	Kind FilterKind
}

// FilterKind says what a filter does.
type FilterKind string

// The values of FilterKind.
const (
	Include FilterKind = ""
	Exclude FilterKind = "exclude"
)

// Ended is how an action was.
type Ended string

// Blocked is why a failure is neither remedied nor tried again.
type Blocked string

// The values of Ended and Blocked.
const (
	UnderWay    Ended = ""
	EndedWell   Ended = "well"
	EndedFailed Ended = "failed"

	NotBlocked            Blocked = ""
	RetriesExceeded       Blocked = "RetriesExceeded"
	MissingRollbackTarget Blocked = "MissingRollbackTarget"
)

// Attempts are how often what is asked for has failed.
type Attempts struct {
	All, Install, Upgrade int64
	// Generation, Version and Config are what was asked for, and Action is what was done for it last.
	Generation      int64
	Version, Config string
	Action          string
}

// AreFor reports whether they are attempts of what is asked for now.
func (a Attempts) AreFor(generation int64, version, config string) bool {
	return a.Generation == generation && a.Config == config && isSameVersion(a.Version, version)
}

// For returns the attempts of what is asked for now: none has failed where that is something else.
func (a Attempts) For(generation int64, version, config string) Attempts {
	if a.AreFor(generation, version, config) {
		a.Version = version
		return a
	}
	return Attempts{Generation: generation, Version: version, Config: config}
}

// isSameVersion compares the versions of two charts. Truce once left a "v" at the front of those that end with the digits of their source's revision, where
// Flux has none: that makes no other version.
func isSameVersion(a, b string) bool {
	return a == b || strings.Contains(a, "+") && strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v")
}
