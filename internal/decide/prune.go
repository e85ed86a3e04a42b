package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
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
	Delete []object.ID
	Forget []object.ID          // not ours any more, or not there: only the record goes
	Keep   map[object.ID]string // and why
	Held   string               // why nothing is deleted until somebody agrees; empty for no
	Token  string               // what agreeing to exactly this list looks like
}

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
	s := Sweep{Keep: map[object.ID]string{}}
	for _, g := range in.Gone {
		s.sort(in, g)
	}
	slices.SortFunc(s.Delete, object.ID.Compare)
	s.Token = token(s.Delete)
	if why := tooMuch(in, s.Delete); why != "" && in.Approved != s.Token && !in.Whole {
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
		s.Keep[g.ID] = "pruning is off"
	case protected(g.Live) != "":
		s.Keep[g.ID] = protected(g.Live)
	case in.Whole && stays(g.Live):
		s.Forget = append(s.Forget, g.ID)
	case g.Live.At("metadata", "deletionTimestamp") != nil:
		s.Keep[g.ID] = "it is being deleted already"
	default:
		s.Delete = append(s.Delete, g.ID)
	}
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

// protected says which annotation keeps the object; both dialects' and Helm's spellings count.
func protected(o object.Object) string {
	for _, keep := range []struct{ key, value string }{
		{"kustomize.toolkit.fluxcd.io/prune", "disabled"}, {"kustomize.toolkit.fluxcd.io/reconcile", "disabled"},
		{"kustomize.toolkit.fluxcd.io/ssa", "ignore"}, {"helm.sh/resource-policy", "keep"},
	} {
		for _, get := range []func(string) (string, bool){o.Annotation, o.Label} {
			if v, ok := get(keep.key); ok && strings.EqualFold(v, keep.value) {
				return keep.key + ": " + v
			}
		}
	}
	if v, _ := o.Annotation("argocd.argoproj.io/sync-options"); strings.Contains(v, "Prune=false") {
		return "argocd.argoproj.io/sync-options: Prune=false"
	}
	return ""
}

// stays reports whether the object is to outlive its app (sync option Delete=false of Argo CD).
func stays(o object.Object) bool {
	v, _ := o.Annotation("argocd.argoproj.io/sync-options")
	return strings.Contains(v, "Delete=false")
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
