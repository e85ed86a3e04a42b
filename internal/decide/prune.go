package decide

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/optout"
	"github.com/truce-gitops/truce/internal/ownership"
)

// Gone is an object of our inventory that Git no longer names.
type Gone struct {
	ID   object.ID
	UID  string        // that we recorded; empty if truce died before it could
	Live object.Object // nil: not in the cluster
}

// Sweep is what to do about all objects that left Git.
type Sweep struct {
	Delete     []object.ID
	Forget     []object.ID // not ours any more, or not there: only the record goes
	Keep       map[object.ID]Kept
	Extraneous map[object.ID]bool // of Keep: those that ask not to count as a difference
	Held       string             // why nothing is deleted until somebody agrees; empty for no
	Token      string             // what agreeing to exactly this list looks like

	confirm string // the first object that asks for an agreement
}

// Kept is why an object stays that Git no longer names.
type Kept struct {
	Why    string
	Own    bool // an annotation or label of the object itself asks for it
	Counts Counts
}

// Counts says whether the object counts as a difference of its app. The zero value does not: it belongs to nobody's app any more.
type Counts string

// The other values of Counts.
const (
	Leaving    Counts = "leaving"    // it is still to be pruned
	Extraneous Counts = "extraneous" // it is listed as such, and asks not to count
)

// SweepInput is what the judgement needs.
type SweepInput struct {
	Gone     []Gone
	Total    int    // objects in the inventory
	Mark     string // the label value that our objects bear
	Policy   app.Prune
	Approved string // the token that somebody agreed to
	Whole    bool   // the app itself was deleted: its user has asked for it
}

// The limits of a prune that nobody has to agree to (DESIGN §8.2): more than pruneCount and pruneShare together are held.
const (
	pruneCount = 10
	pruneShare = 0.2
)

// precious kinds take data or other objects with them.
var precious = map[string]bool{
	"Namespace": true, "CustomResourceDefinition": true, "PersistentVolume": true, "PersistentVolumeClaim": true, "StatefulSet": true,
}

// SweepAll judges what left Git. An object is deleted only if it is in the inventory, is the very one that we made, and the policy says so.
func SweepAll(in SweepInput) Sweep {
	s := Sweep{Keep: map[object.ID]Kept{}}
	for _, g := range in.Gone {
		s.sort(in, g)
	}
	slices.SortFunc(s.Delete, object.ID.Compare)
	s.Token = token(s.Delete)
	if why := cmp.Or(s.confirm, tooMuch(in, s.Delete)); why != "" && in.Approved != s.Token && !in.Whole {
		s.Held = fmt.Sprintf("%s; to agree, annotate the app with truce.dev/approve-prune=%s", why, s.Token)
	}
	return s
}

func (s *Sweep) sort(in SweepInput, g Gone) {
	switch {
	case g.Live == nil:
		s.Forget = append(s.Forget, g.ID)
	case !ours(g, in.Mark):
		s.Forget = append(s.Forget, g.ID)
	case in.Policy != app.PruneDelete:
		s.Keep[g.ID] = Kept{Why: "pruning is off", Counts: counts(g.Live)}
	case protected(g.Live) != "":
		s.Keep[g.ID] = Kept{Why: protected(g.Live), Own: true}
	case asks(g.Live, syncOptions, "Prune=false") && !in.Whole: // Argo CD asks Delete=false when the app ends
		s.Keep[g.ID] = Kept{Why: "annotation " + syncOptions + ": Prune=false", Own: true, Counts: counts(g.Live)}
	case in.Whole && stays(g.Live):
		s.Forget = append(s.Forget, g.ID)
	case g.Live.At("metadata", "deletionTimestamp") != nil:
		s.Keep[g.ID] = Kept{Why: "it is being deleted already"}
	default:
		s.Delete = append(s.Delete, g.ID)
		if s.confirm == "" && asks(g.Live, syncOptions, "Prune=confirm") {
			s.confirm = fmt.Sprintf("%s is not pruned without confirmation (%s: Prune=confirm)", g.ID, syncOptions)
		}
	}
}

func counts(live object.Object) Counts {
	if asks(live, "argocd.argoproj.io/compare-options", "IgnoreExtraneous") {
		return Extraneous
	}
	return Leaving
}

// ours reports whether the live object is one that we made, and still the app's. Where truce died between making and recording, for
// the first time or anew after somebody's delete, the uid is unknown or an older one's: then our mark proves it, if our own apply
// has put it there. A mark that was copied proves nothing.
func ours(g Gone, mark string) bool {
	label, marked := g.Live.Label(object.PartOf)
	if marked && label != mark { // another app has taken it over
		return false
	}
	return g.UID != "" && g.Live.UID() == g.UID || marked && markedByUs(g.Live)
}

func markedByUs(o object.Object) bool {
	entries, _ := o.At("metadata", "managedFields").([]any)
	return slices.ContainsFunc(entries, func(e any) bool {
		m, _ := e.(map[string]any)
		return m["manager"] == ownership.Manager && m["operation"] == "Apply" &&
			object.Object(m).At("fieldsV1", "f:metadata", "f:labels", "f:"+object.PartOf) != nil
	})
}

// protected says which annotation or label of Flux's or Helm's keeps the object. It counts in both dialects.
func protected(o object.Object) string {
	for _, keep := range []struct{ key, value string }{
		{"kustomize.toolkit.fluxcd.io/prune", "disabled"}, {"kustomize.toolkit.fluxcd.io/reconcile", "disabled"},
		{"kustomize.toolkit.fluxcd.io/ssa", "ignore"}, {"helm.sh/resource-policy", "keep"},
	} {
		if v, ok := o.Annotation(keep.key); ok && strings.EqualFold(v, keep.value) {
			return "annotation " + keep.key + ": " + v
		}
		if v, ok := o.Label(keep.key); ok && strings.EqualFold(v, keep.value) {
			return "label " + keep.key + ": " + v
		}
	}
	return ""
}

const syncOptions = "argocd.argoproj.io/sync-options"

// stays reports whether the object is to outlive its app: Argo CD's sync options Delete=false, and Delete=confirm, which nothing confirms.
func stays(o object.Object) bool {
	return asks(o, syncOptions, "Delete=false") || asks(o, syncOptions, "Delete=confirm")
}

// asks reports whether the list in an annotation has the item.
func asks(o object.Object, key, item string) bool {
	text, _ := o.Annotation(key)
	return slices.Contains(optout.Items(text), item)
}

func tooMuch(in SweepInput, list []object.ID) string {
	for _, id := range list {
		if precious[id.Kind] {
			return fmt.Sprintf("%s would be deleted, and what it holds with it", id)
		}
	}
	if len(list) > pruneCount && float64(len(list)) > pruneShare*float64(in.Total) {
		return fmt.Sprintf("%d of %d objects would be deleted", len(list), in.Total)
	}
	return ""
}

func token(list []object.ID) string {
	h := sha256.New()
	for _, id := range list {
		fmt.Fprintln(h, id)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
