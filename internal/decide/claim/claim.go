// Package claim answers: who has a standing right to which field, on what evidence?
//
// In: a Catalogue (what is known of who writes what, as data), the objects that may claim, and the object in question.
// Out: the Claims on it, one a field: claimant, bounds, how certain, and the sentence that shows the evidence.
// Promise: pure; an object that states the intent goes before a mark on the object itself, and that before a field manager's name;
// a catalogue that is wrong is refused with its line.
// Not here: finding claimants in a cluster (live), what a claim leads to (decide).
package claim

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Claimant is an object that declares the intent to write a field of another one.
type Claimant struct {
	ID     object.ID
	Target object.ID  // what it writes to; without a name every object of the kind in the namespace; the group is empty where it names none
	At     object.GVK // the target's type as the claimant names it; the zero type where it does not name all of it
	Min    int64      // the least value that it will write
	Max    int64      // the greatest

	Scaled   Scaling   // what its status says of its own last write
	Entry    string    // the id in the catalogue
	App      string    // the app that has it in Git, by its label; empty for none of truce's
	Owner    object.ID // the object that made it and answers for it
	Idle     string    // why it does nothing at present; empty while it works
	Evidence string    // the sentence that shows what it claims

	entry    *Entry
	anyGroup bool
	except   string
	items    string // the list items that it writes to, a name a line; empty where it names none
}

// Scaling is what an autoscaler's status says of its last write: status.desiredReplicas and status.lastScaleTime of an HPA. The zero Scaling
// says nothing.
type Scaling struct {
	To int64
	At int64 // in seconds
}

// Counts reports whether it claims a number.
func (c Claimant) Counts() bool { return c.entry != nil && c.entry.Count != nil }

// MeansSame reports whether another form of the claimant means the same fields: by the same entry of the same object, and the same items of its lists.
func (c Claimant) MeansSame(other Claimant) bool {
	return c.Entry == other.Entry && c.Target == other.Target && c.items == other.items
}

// Known reports whether the status says anything.
func (s Scaling) Known() bool { return s.At != 0 }

// Time is when it scaled, to the second.
func (s Scaling) Time() time.Time { return time.Unix(s.At, 0) }

// Claim is a claimant's right to one field of one object.
type Claim struct {
	Path     field.Path
	By       object.ID // the claimant; the zero ID where only the object itself shows it
	Min, Max int64     // of a number: the least and the greatest value that the claimant writes; 0, 0 for what is no number
	Evidence string    // the sentence that shows it

	Entry     string // the id in the catalogue
	Who       string // the writer
	App       string // the app that has the claimant in Git; empty for none of truce's
	Do        Action
	Certainty Certainty
	Idle      string   // why the claimant does nothing at present, and since when; empty while it works
	Notes     []string // what is odd about it: two claimants, one that stands still
	Scaled    Scaling  // what the claimant's status says of its own last write
	Scale     bool     // the path is where the object's kind keeps the count that its scale subresource writes

	zero         Zero
	placeholders []string
	isCount      bool // the entry says that it is to a number
}

// Name returns the claimant as people say it: "HPA shop/web".
func (c Claim) Name() string {
	if c.By.Kind == "" {
		return c.Who
	}
	return objectName(c.By)
}

func objectName(id object.ID) string { return kindName(id.Kind) + " " + id.Namespace + "/" + id.Name }

// Unbounded reports whether nothing says how great the number may become.
func (c Claim) Unbounded() bool { return c.Max == unbounded }

// Counts reports whether the claim is to a number that the claimant moves, or holds: at 0 where it is paused there.
func (c Claim) Counts() bool { return c.isCount || c.Max > 0 }

// Scaler is the claimant as the writer of a count; none, unless the claim is to a number.
func (c Claim) Scaler() ownership.Scaler {
	if !c.Counts() {
		return ownership.Scaler{}
	}
	out := ownership.Scaler{Path: c.Path, ID: c.By, Name: c.Name(), Min: c.Min, Max: c.Max}
	if c.Scaled.Known() {
		out.To, out.At = c.Scaled.To, c.Scaled.Time()
	}
	return out
}

// Paused reports whether the claimant is inactive because a person has set the number to 0: the HPA controller does nothing at 0
// replicas unless its minReplicas is 0. Those that write 0 themselves (KEDA) are never paused by it.
func (c Claim) Paused(live any) bool {
	n, ok := live.(int64)
	return ok && n == 0 && c.Min > 0 && c.zero != Own
}

// Placeholder reports whether Git's value of the field only says that another writer fills it in: caBundle: Cg==.
func (c Claim) Placeholder(git any) bool {
	return git != nil && slices.Contains(c.placeholders, valueText(git))
}

func kindName(kind string) string {
	if kind == "HorizontalPodAutoscaler" {
		return "HPA"
	}
	return kind
}

// Seed returns the value that a new object starts with under the claim: the remembered one, else Git's, else the least, within the bounds.
func (c Claim) Seed(remembered, git any) int64 {
	v := c.Min
	if n, ok := git.(int64); ok {
		v = n
	}
	if n, ok := remembered.(int64); ok && (n > 0 || c.Min == 0) { // a pause is nothing to start with
		v = n
	}
	return min(max(v, c.Min), max(c.Max, c.Min))
}
