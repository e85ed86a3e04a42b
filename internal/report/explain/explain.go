// Package explain answers: what is the story of this object, and of this field?
//
// In: a Subject: one object as it is live, who owns which of its fields, what Git wants of it and where it says so, what truce finds
// about it now, and what the journal has about it.
// Out: the field that a typed path means; its story in sentences; the whole object line by line with
// who wrote each (Lines).
// Promise: pure; what is not known is said to be unknown, and a guess is called one; it shows no value that its Subject does not hold.
// Not here: gathering a Subject (view), findings (decide), columns, colours and forms of output (cli).
package explain

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// Question says which object is meant, and how much of it is asked.
type Question struct {
	Kind            string // as kubectl takes it: deploy, deployments, deployment.apps
	Namespace, Name string
	Path            string        // of a field, as people type it; empty for the object
	Since           time.Duration // how far back the journal is asked; 0 for not at all
	From            string        // a status page or a journal file; empty for the cluster's controller
	Reach           Reach
	// Of is the app whose object is meant: in the cluster of its objects. Its zero value is any app, this cluster first.
	Of app.Key
}

// Reach says how far to look.
type Reach string

// The values of Reach.
const (
	ReachLive  Reach = "live"  // the object alone, as the cluster holds it
	ReachField Reach = "field" // what is needed for the path of the question
	ReachLines Reach = "lines" // what Lines needs
)

// Subject is one object and all that is known of it. Values of Secrets are masked in all of it.
type Subject struct {
	ID      object.ID
	Version string            // of the API
	Live    redact.Shown      // nil: not in the cluster
	Owners  []ownership.Entry // of Live, see Owners

	App      *app.App      // that keeps it; nil for none
	Revision string        // that the app reads now
	Others   []app.Key     // that name it, too
	Leaving  bool          // Git no longer describes what the app has made: a run would prune it
	Git      redact.Shown  // as the app wants it; nil if it does not, or if that is not known
	Found    report.Object // what a run would find now
	// Places returns where Git writes a field, as desired.FieldOrigins.
	Places  func(field.Path) []desired.Place
	Commits map[Spot]Commit

	Journal []journal.Entry // about the object, oldest first
	Since   time.Duration   // how far back the journal was asked

	Makers  []object.ID // who made it, and who made that one: by ownerReferences
	Orphan  string      // the mark of an app that was not found; empty for none
	Unsure  bool        // no app was found, and not all could be looked at
	Keeping string      // who keeps the last of Makers, as a sentence; empty if not known
	Unknown []string    // what is not known, and why
	Notes   []string    // worth knowing of how the look was made
	Stage   report.Stage
	Reason  report.Reason // of Stage, where the look at the app has stopped
	Now     time.Time
}

// compared reports whether the object was compared with what Git wants: only then a field without a finding is as Git wants it.
func (s Subject) compared() bool {
	compared := []report.Stage{report.Prune, report.Observe, report.Done}
	return slices.Contains(compared, s.Stage) && s.Found.Problem == ""
}

// Spot is a line of a file in the source.
type Spot struct {
	File string
	Line int
}

// Commit is who last touched a line.
type Commit struct {
	Hash, Author, Subject string
	Time                  time.Time
	Oldest                bool // history is known no further back
}

// FieldOwners reads who owns which fields from metadata.managedFields of a live object. Unlike ownership.Entries it knows what is owned by writes to the status.
func FieldOwners(managedFields any) ([]ownership.Entry, error) {
	list, _ := managedFields.([]any)
	plain := make([]any, 0, len(list))
	subresources := make([]string, len(list))
	for i, e := range list {
		m, ok := e.(map[string]any)
		if ok && m["subresource"] == "status" {
			subresources[i] = "status"
			m = without(m, "subresource")
			e = m
		}
		plain = append(plain, e)
	}
	out, err := ownership.Entries(map[string]any{"metadata": map[string]any{"managedFields": plain}})
	for i := range out {
		if subresources[i] != "" {
			out[i].Subresource = subresources[i]
		}
	}
	return out, err
}

func without(m map[string]any, key string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// Spots lists the lines whose commits are shown for the path, or for an empty one by Lines.
func (s Subject) Spots(p field.Path) []Spot {
	var out []Spot
	if s.Found.File != "" {
		out = append(out, Spot{s.Found.File, s.Found.Line})
	}
	if len(p) > 0 {
		return append(out, s.spots(p)...)
	}
	for _, f := range s.Found.Findings {
		out = append(out, s.spots(f.Path)...)
	}
	return out
}

// LinedSpots lists the lines whose commits Lines shows.
func (s Subject) LinedSpots() []Spot {
	var out []Spot
	w := newWalker(s, Every)
	w.leaves(map[string]any(s.Live), nil, func(at field.Pointer) {
		if p := w.paths(at); p.inGit {
			out = append(out, s.spots(p.git)...)
		}
	})
	return out
}

func (s Subject) spots(p field.Path) []Spot {
	places := s.places(p)
	if i := desired.WinningPlace(places); i >= 0 && places[i].File != "" {
		return []Spot{{places[i].File, places[i].Line}}
	}
	return nil
}

// places are where Git writes a field that it names. What names an object in a patch, or an item of a list, only says what the patch is
// about: it is written where it stands first.
func (s Subject) places(p field.Path) []desired.Place {
	if s.Places == nil || s.Git == nil {
		return nil
	}
	if _, named := field.ValueAt(s.Git, p); !named {
		return nil
	}
	all := s.Places(p)
	switch {
	case len(all) > 1 && field.IsListKey(p):
		return all[:1]
	case len(all) > 1 && identity(p):
		return slices.DeleteFunc(all, func(x desired.Place) bool { return x.Means == desired.ByPatch })
	}
	return all
}

// identity reports whether a field names the object.
func identity(p field.Path) bool {
	switch field.PathString(p) {
	case ".apiVersion", ".kind", ".metadata.name", ".metadata.namespace":
		return true
	}
	return false
}
