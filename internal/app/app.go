// Package app answers: what did the user ask to keep in sync, from where, into where, under which policy?
//
// In: nothing; the fronts translate a dialect's custom resource into it.
// Out: App, the neutral form that every stage reads.
// Promise: no word of it belongs to one dialect.
// Not here: reading custom resources (front), when to run (controller), what Git holds (source, render, desired).
package app

import (
	"time"

	"github.com/truce-gitops/truce/internal/ignore"
)

// Key names an app in the cluster that holds its custom resource. Kind is the custom resource's kind.
type Key struct {
	Kind, Namespace, Name string
}

// String prints the key as "Kustomization flux-system/web".
func (k Key) String() string { return k.Kind + " " + k.Namespace + "/" + k.Name }

// SourceKey names the custom resource that says where the files come from.
type SourceKey struct {
	Kind, Namespace, Name string
}

// String prints the key as "GitRepository flux-system/web".
func (k SourceKey) String() string { return k.Kind + " " + k.Namespace + "/" + k.Name }

// App is one thing to keep in sync.
type App struct {
	Key        Key
	UID        string // of the custom resource: the mark that its objects bear
	Generation int64  // of the custom resource that this was read from

	Source SourceKey
	// Labels are put on every object, for the dialect's own tools.
	Labels    map[string]string
	Path      string // directory inside the source, "." for its root
	Namespace string // overrides the namespace of every namespaced object; empty keeps them

	Interval  time.Duration // between full checks
	Look      time.Duration // the source is asked for a new revision at least so often; 0 leaves that to the source
	Retry     time.Duration // after a failed run
	Timeout   time.Duration // of one run, and of waiting for health
	Suspended bool
	Request   string // a token: a new value asks for a run now
	Deleting  bool
	Approved  string // the token of a held prune that somebody agreed to

	Prune      Prune
	Wait       Wait
	Validation Validation
	Policy     Policy
	Ignore     ignore.Rules

	// Problems are what the user asked for and truce cannot do: the app is refused while there are any.
	Problems []Problem
	// Notes are worth saying on the app, but stop nothing.
	Notes []string
}

// Problem is a reason to refuse an app: the field of its custom resource, and what is wrong with it.
type Problem struct {
	Field, Reason string
}

// Prune says what happens to objects that Git no longer names.
type Prune string

// Wait says whether an app is ready when its objects are applied, or only when they are healthy.
type Wait string

// Validation says when objects are checked before the first of a revision is applied.
type Validation string

// The policies' values. The zero values are no policy: a front must choose.
const (
	PruneDelete Prune = "Delete" // remove them
	PruneKeep   Prune = "Keep"   // leave them where they are

	WaitApplied Wait = "Applied"
	WaitHealthy Wait = "Healthy"

	ValidateNone   Validation = "none"
	ValidateClient Validation = "client" // against the server's published schema
	ValidateServer Validation = "server" // by a dry run
)
