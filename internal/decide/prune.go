package decide

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// PruneCandidate is an object of our inventory that Git no longer names.
type PruneCandidate struct {
	ID   object.ID
	UID  string        // that we recorded; empty if truce died before it could, or if the record is not known to be ours
	Live object.Object // nil: not in the cluster
	// Inherited says that it bears the mark of the controller that the app was adopted from, for this very app.
	Inherited bool
	// Denied is why the app may not delete it, as its project says; empty where it may.
	Denied string
	// NamedBy is another app that has it or is about to, and has not put its own mark on it yet; empty for none.
	NamedBy string
}

// PrunePlan is what to do about all objects that left Git.
type PrunePlan struct {
	Delete     []object.ID
	Forget     []object.ID // not ours any more, or not there: only the record goes
	Keep       map[object.ID]KeepReason
	Extraneous map[object.ID]bool // of Keep: those that ask not to count as a difference
	Held       string             // why nothing is deleted before an approval; empty for no
	Token      string             // the approval of exactly this list
	Approved   bool               // the list would be held, and is approved

	confirm string // the first object that asks for an agreement
}

// IsUnconfirmed reports whether an object asks for an agreement that there is not.
func (s PrunePlan) IsUnconfirmed() bool { return s.confirm != "" }

// KeepReason is why an object stays that Git no longer names.
type KeepReason struct {
	Why    string
	Own    bool // an annotation or label of the object itself asks for it
	Counts Counts
	// BeingDeleted says that the object has been deleted, and is still there.
	BeingDeleted bool
}

// Counts says whether the object counts as a difference of its app. The zero value does not: it belongs to no app any more.
type Counts string

// The other values of Counts.
const (
	Leaving    Counts = "leaving"    // it is still to be pruned
	Extraneous Counts = "extraneous" // it is listed as such, and asks not to count
)

// PruneInput is what the judgement needs.
type PruneInput struct {
	Gone           []PruneCandidate
	Total          int    // objects of the app before the first of pruneWindow was pruned
	RecentlyPruned int    // objects that were pruned within pruneWindow without an approval
	IdentityChange string // what of the app's identity has changed within pruneWindow; empty for nothing
	Label          string // the label value that our objects bear
	Policy         policy.Prune
	Rules          optout.PruneRules // by which the objects themselves ask to stay; nil deletes nothing, as any of them might ask for it
	Limit          *int              // see app.App.PruneLimit
	Approved       string            // the token that a user has approved
	Continued      string            // the token of what is left of an approved list
	Earlier        string            // the uid of another app of this name, whose record names the objects; empty for none
	Confirmed      bool              // a person has agreed to delete those that ask for it
	// PruneRestraint and DeleteRestraint are the app's; an option of the object's own counts instead.
	PruneRestraint, DeleteRestraint policy.Restraint
	// KeepDefinitions: see app.App.KeepDefinitions.
	KeepDefinitions bool
	AppDeleted      bool // the app itself was deleted: its user has asked for it
}

// The limits of a prune without approval, counted over pruneWindow. A prune is held that takes more than pruneCount objects and
// more than pruneShare of the app's, more than pruneMost and more than half, or, where the app's identity has changed, more than half.
const (
	pruneWindow = 10 * time.Minute
	pruneCount  = 10
	pruneShare  = 0.2
	pruneMost   = 5
)

// Window is the time over which prunes are counted together.
func (PruneInput) Window() time.Duration { return pruneWindow }

// precious kinds take data or other objects with them.
var precious = map[string]bool{
	"Namespace": true, "CustomResourceDefinition": true, "PersistentVolume": true, "PersistentVolumeClaim": true, "StatefulSet": true,
}

// PlanPrune judges what left Git. An object is deleted only if it is in the inventory, is the very one that we made, and the policy says so.
func PlanPrune(in PruneInput) PrunePlan {
	s := PrunePlan{Keep: map[object.ID]KeepReason{}}
	for _, g := range in.Gone {
		s.sort(in, g)
	}
	slices.SortFunc(s.Delete, object.ID.Compare)
	s.Token = in.ApprovalToken(s.Delete)
	why := cmp.Or(s.confirm, tooMuch(in, s.Delete))
	switch {
	case why == "" || in.AppDeleted:
	case in.Approved == s.Token, in.Continued == s.Token:
		s.Approved = true
	default:
		s.Held = fmt.Sprintf("%s%s; to approve, run truce app approve-prune, or annotate the app with truce.dev/approve-prune=%s",
			why, firstObjects(s.Delete), s.Token)
	}
	return s
}

// firstObjects names the first objects of a list, of one object nothing, as the reason names it.
func firstObjects(list []object.ID) string {
	const shown = 3
	if len(list) == 1 {
		return ""
	}
	names := make([]string, 0, shown+1)
	for _, id := range list[:min(shown, len(list))] {
		names = append(names, id.String())
	}
	if more := len(list) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return ": " + strings.Join(names, ", ")
}

func (s *PrunePlan) sort(in PruneInput, g PruneCandidate) {
	if g.Live == nil || !g.IsOwn(in.Label) {
		s.Forget = append(s.Forget, g.ID)
		return
	}
	kept, isKept := in.Rules.Find(g.Live, optout.Keep)
	unlessEnd, isKeptUnlessEnd := in.keptUnlessEnd(g.Live)
	switch {
	case g.NamedBy != "" && in.AppDeleted:
		s.Forget = append(s.Forget, g.ID)
	case g.NamedBy != "":
		s.Keep[g.ID] = KeepReason{Why: g.NamedBy + " names it too"}
	case in.Policy != policy.PruneDelete, in.Rules == nil:
		s.Keep[g.ID] = KeepReason{Why: "pruning is off", Counts: in.countingOf(g.Live)}
	case g.Denied != "" && in.AppDeleted: // as in Argo CD: it outlives the app
		s.Forget = append(s.Forget, g.ID)
	case g.Denied != "":
		s.Keep[g.ID] = KeepReason{Why: g.Denied}
	case isKept:
		s.Keep[g.ID] = KeepReason{Why: kept.String(), Own: true}
	case isKeptUnlessEnd && !in.AppDeleted:
		s.Keep[g.ID] = unlessEnd
	case in.AppDeleted && (in.OutlivesApp(g.Live) || in.KeepDefinitions && isDefinition(g.ID)):
		s.Forget = append(s.Forget, g.ID)
	case g.Live.At("metadata", "deletionTimestamp") != nil:
		s.Keep[g.ID] = KeepReason{Why: "it is being deleted already", BeingDeleted: true}
	default:
		s.Delete = append(s.Delete, g.ID)
		if mark := in.confirmationMark(g.Live); mark != "" && s.confirm == "" && !in.Confirmed {
			s.confirm = fmt.Sprintf("%s is not pruned without confirmation (%s)", g.ID, mark)
		}
	}
}

// keptUnlessEnd reports whether an object is deleted with its app alone, and why.
func (in PruneInput) keptUnlessEnd(live object.Object) (KeepReason, bool) {
	if m, asks := in.Rules.Find(live, optout.KeepUnlessEnd); asks {
		return KeepReason{Why: m.String(), Own: true, Counts: in.countingOf(live)}, true
	}
	never := in.PruneRestraint.Never && !in.Rules.ConfirmationOf(live).OwnPrune
	return KeepReason{Why: in.PruneRestraint.Mark, Counts: in.countingOf(live)}, never
}

func isDefinition(id object.ID) bool {
	return id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io"
}

// OutlivesApp reports whether an option has a live object stay when its app is deleted: its own, or else the app's. Nothing confirms such a deletion.
func (in PruneInput) OutlivesApp(live object.Object) bool {
	_, asks := in.Rules.Find(live, optout.OutliveApp)
	return asks || in.DeleteRestraint.IsSet() && !in.Rules.ConfirmationOf(live).OwnDelete
}

// confirmationMark is what asks for a person's confirmation before an object is pruned; empty for nothing.
func (in PruneInput) confirmationMark(live object.Object) string {
	m, asks := in.Rules.Find(live, optout.ConfirmPrune)
	switch {
	case asks:
		return m.Key + ": " + m.Value
	case in.Rules.ConfirmationOf(live).OwnPrune:
		return ""
	}
	return in.PruneRestraint.Mark
}

func (in PruneInput) countingOf(live object.Object) Counts {
	if _, uncounted := in.Rules.Find(live, optout.Uncounted); uncounted {
		return Extraneous
	}
	return Leaving
}

// IsOwn reports whether the live object is one that we made, and still the app's: it bears the mark of this very app, and it is the one that we
// recorded. Where truce died between making and recording, for the first time or again after a person's delete, the uid is unknown or an
// older one's: then our mark proves it, if our own apply has put it there. A mark that was copied proves nothing. What an app was adopted with
// and Git never named bears the other controller's mark alone, and counts by its uid.
func (g PruneCandidate) IsOwn(mark string) bool {
	label, marked := g.Live.Label(object.PartOf)
	same := g.UID != "" && g.Live.UID() == g.UID
	if !marked {
		return same && g.Inherited
	}
	return label == mark && (same || hasTruceMark(g.Live))
}

func hasTruceMark(o object.Object) bool {
	entries, _ := o.At("metadata", "managedFields").([]any)
	return slices.ContainsFunc(entries, func(e any) bool {
		m, _ := e.(map[string]any)
		return m["manager"] == ownership.Manager && m["operation"] == "Apply" &&
			object.Object(m).At("fieldsV1", "f:metadata", "f:labels", "f:"+object.PartOf) != nil
	})
}

func tooMuch(in PruneInput, list []object.ID) string {
	for _, id := range list {
		if precious[id.Kind] {
			return fmt.Sprintf("%s would be deleted, and what it holds with it", id)
		}
	}
	if len(list) > 0 && in.Earlier != "" {
		return fmt.Sprintf("%d of %d objects would be deleted, which an earlier app of this name (uid %s) may have left", len(list), max(in.Total, len(list)), in.Earlier)
	}
	if len(list) == 0 || !exceeds(in, len(list)+in.RecentlyPruned) {
		return ""
	}
	why := fmt.Sprintf("%d of %d objects would be deleted", len(list), max(in.Total, len(list)))
	if in.RecentlyPruned > 0 {
		n := len(list) + in.RecentlyPruned
		why = fmt.Sprintf("%d of %d objects would be deleted within %d minutes, of which %d are already", n, max(in.Total, n), int(pruneWindow.Minutes()), in.RecentlyPruned)
	}
	if in.IdentityChange != "" {
		why += ", and " + in.IdentityChange
	}
	return why
}

// exceeds reports whether so many objects are more than may be pruned without approval.
func exceeds(in PruneInput, n int) bool {
	if in.Limit != nil {
		return n > *in.Limit
	}
	half := 2*n > in.Total
	return n > pruneCount && float64(n) > pruneShare*float64(in.Total) || half && (n > pruneMost || in.IdentityChange != "")
}

// ApprovalToken names a list of objects by their IDs and uids: an object that takes the place of one that was approved is not approved.
func (in PruneInput) ApprovalToken(list []object.ID) string {
	uids := make(map[object.ID]string, len(in.Gone))
	for _, g := range in.Gone {
		uids[g.ID] = g.Live.UID()
	}
	h := sha256.New()
	for _, id := range list {
		fmt.Fprintln(h, id, uids[id])
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
