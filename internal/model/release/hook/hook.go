// Package hook answers: which objects does a chart make at which events, how far have they come, and how far has the action?
//
// In: nothing; render workers, dialects and the engine fill it in.
// Out: Hook and Run; Status and Stage of a stored release, in Helm's words; Action, which says how an action is carried out.
// Promise: pure; no type of Helm is in it.
// Not here: running hooks (apply/hooks), which action is next (decide/lifecycle).
package hook

import (
	"cmp"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Hook is an object of a chart that is made at an event of a release, and is no part of it.
type Hook struct {
	// Index is its place in Helm's JSON of the release.
	Index  int
	Path   string // of the template
	Name   string
	Weight int
	Events []Event
	// Policies say when the object is deleted.
	Policies []DeletePolicy
	Object   object.Object
}

// Event is when a hook is made, in Helm's words.
type Event string

// DeletePolicy is when a hook's object is deleted, in Helm's words.
type DeletePolicy string

// Phase is how far a hook has come, in Helm's words.
type Phase string

// The values of Event, DeletePolicy and Phase.
const (
	PreInstall   Event = "pre-install"
	PostInstall  Event = "post-install"
	PreUpgrade   Event = "pre-upgrade"
	PostUpgrade  Event = "post-upgrade"
	PreRollback  Event = "pre-rollback"
	PostRollback Event = "post-rollback"
	PreDelete    Event = "pre-delete"
	PostDelete   Event = "post-delete"
	TestEvent    Event = "test"

	// Those of an operation of an Application, in Argo CD's words.
	PreSync  Event = "PreSync"
	SyncTime Event = "Sync"
	PostSync Event = "PostSync"
	SyncFail Event = "SyncFail"

	// Those of the end of an Application.
	BeforeEnd Event = "PreDelete"
	AfterEnd  Event = "PostDelete"

	BeforeCreation DeletePolicy = "before-hook-creation"
	WhenSucceeded  DeletePolicy = "hook-succeeded"
	WhenFailed     DeletePolicy = "hook-failed"

	NotRun    Phase = ""
	Replacing Phase = "Unknown" // the former object of its name is being deleted
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// Run is how a hook ran last.
type Run struct {
	Phase              Phase
	Started, Completed time.Time // zero for not yet
	Message            string    // why it has failed, redacted; empty for one of a stored release, which has no place for it
}

// Outcome is how a hook of an operation ran.
type Outcome struct {
	ID      object.ID
	Version string // of the API
	Event   Event
	Run     Run
}

// HooksOf returns the hooks of an event in the order in which they run: by weight, then by name. As in Helm those of one weight and name are
// in the order in which their kinds are installed.
func HooksOf(all []Hook, event Event) []Hook {
	out := slices.DeleteFunc(slices.Clone(all), func(h Hook) bool { return !slices.Contains(h.Events, event) })
	slices.SortStableFunc(out, func(a, b Hook) int { return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name)) })
	return out
}

// IsDeletedAfter reports whether the object is deleted when the hook has ended in that phase.
func (h Hook) IsDeletedAfter(ended Phase) bool {
	return ended == Succeeded && h.Deletes(WhenSucceeded) || ended == Failed && h.Deletes(WhenFailed)
}

// Deletes reports whether the object is deleted then. As in Helm the object of a hook without policies is deleted before it is created again, and
// definitions are never deleted.
func (h Hook) Deletes(when DeletePolicy) bool {
	if h.Object.GVK().Kind == "CustomResourceDefinition" {
		return false
	}
	return slices.Contains(h.Policies, when) || len(h.Policies) == 0 && when == BeforeCreation
}

// TestRun is how a test of a release ran.
type TestRun struct {
	Name string
	Run
}

// Action is how an action of Helm is carried out.
type Action struct {
	// Timeout is how long each hook, and the objects, are waited for.
	Timeout time.Duration
	// Wait says what is waited for after the objects are applied; where they are deleted, whether they are waited for to be gone.
	Wait Wait
	// Hooks says whether hooks are run.
	Hooks Policy
	// Ownership says what becomes of objects that are there already, and are of no release or of another one.
	Ownership Ownership `json:",omitempty"`
	// Cleanup says what becomes of the objects that the action has made, where it fails.
	Cleanup Cleanup `json:",omitempty"`
	// Propagation says what becomes of the dependents of the objects that the action deletes.
	Propagation Propagation `json:",omitempty"`
}

// Ownership says what an action does about objects that are there already.
type Ownership string

// Cleanup says what becomes of what a failed action has made.
type Cleanup string

// Propagation says what becomes of the dependents of a deleted object.
type Propagation string

// The values of Ownership, Cleanup and Propagation.
const (
	TakeOwnership Ownership = ""
	RefuseOthers  Ownership = "refuse" // the action fails

	KeepNew   Cleanup = ""       // it is pruned when the next action has succeeded
	DeleteNew Cleanup = "delete" // at once

	Background Propagation = ""           // they are deleted behind it
	Foreground Propagation = "foreground" // they are deleted before it
	Orphan     Propagation = "orphan"     // they stay
)

// Wait says which objects have to be healthy.
type Wait string

// Policy says whether hooks are run.
type Policy string

// The values of Wait and Policy.
const (
	WaitForAll     Wait = ""
	WaitButForJobs Wait = "but for Jobs" // Jobs may still run
	WaitForNothing Wait = "for nothing"
	WaitForResumed Wait = "for all, and for suspended ones to be resumed" // as in Argo CD

	RunHooks  Policy = ""
	SkipHooks Policy = "skip"
)

// Step is an action of Helm.
type Step string

// The values of Step.
const (
	Keep      Step = "" // the newest one is what is asked for, as it is stored
	Install   Step = "install"
	Upgrade   Step = "upgrade"
	Rollback  Step = "rollback"
	Uninstall Step = "uninstall"
	Test      Step = "test"
)
