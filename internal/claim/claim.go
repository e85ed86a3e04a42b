// Package claim answers: who has a standing right to which field, on what evidence?
//
// In: the objects that may claim (autoscalers, wherever they were found), and the object in question.
// Out: the Claims on it: field, claimant, bounds, evidence, and what would end the conflict in Git.
// Promise: pure; a claim comes from an object that declares the intent, never from a field manager's name alone.
// Not here: finding claimants in a cluster (live), what a claim leads to (decide).
package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
)

// Claimant is an object that declares the intent to write a field of another one.
type Claimant struct {
	ID     object.ID
	Target object.ID // what it writes to; Group is empty where the claimant names none, and then matches any
	Min    int64     // the least value that it will write
	Max    int64     // the greatest

	Entry    string    // the id in the catalogue
	App      string    // the app that has it in Git, by its label; empty for none of truce's
	Owner    object.ID // the object that made it and answers for it
	Idle     string    // why it does nothing at present; empty while it works
	Evidence string    // the sentence that shows what it claims

	entry    *Entry
	anyGroup bool
	except   string
}

// Claim is a claimant's right to one field of one object.
type Claim struct {
	Path     field.Path
	By       object.ID // the claimant; the zero ID where none but the object itself tells
	Min, Max int64     // of a number: the least and the greatest value that the claimant writes; 0, 0 for what is no number
	Evidence string    // the sentence that shows it

	Entry     string // the id in the catalogue
	Who       string // the writer
	App       string // the app that has the claimant in Git; empty for none of truce's
	Do        Action
	Certainty Certainty
	Notes     []string // what is odd about it: two claimants, one that stands still

	zero         Zero
	placeholders []string
}

// Name returns the claimant as people say it: "HPA shop/web".
func (c Claim) Name() string {
	if c.By.Kind == "" {
		return c.Who
	}
	return nameOf(c.By)
}

func nameOf(id object.ID) string { return kindName(id.Kind) + " " + id.Namespace + "/" + id.Name }

// Counts reports whether the claim is to a number that the claimant moves.
func (c Claim) Counts() bool { return c.Max > 0 }

// Paused reports whether the claimant stands still because somebody has set the number to 0: the HPA controller does nothing at 0
// replicas unless its minReplicas is 0. Those that write 0 themselves (KEDA) are never paused by it.
func (c Claim) Paused(live any) bool {
	n, ok := live.(int64)
	return ok && n == 0 && c.Min > 0 && c.zero != Own
}

// Placeholder reports whether Git's value of the field only says that somebody else fills it in: caBundle: Cg==.
func (c Claim) Placeholder(git any) bool {
	return git != nil && slices.Contains(c.placeholders, text(git))
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

// Replicas is the field that autoscalers claim.
func Replicas() field.Path { return field.Name("spec", "replicas") }

// Kinds are the types of object that may be claimants.
func Kinds() []object.GVK {
	return []object.GVK{{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}}
}

// Read returns what the object claims, and whether it claims anything at all.
// An autoscaler on its way out (deletionTimestamp) claims nothing any more.
func Read(o object.Object) (Claimant, bool) {
	if o.GVK().Group != "autoscaling" || o.GVK().Kind != "HorizontalPodAutoscaler" || o.At("metadata", "deletionTimestamp") != nil {
		return Claimant{}, false
	}
	str := func(key string) string { s, _ := o.At("spec", "scaleTargetRef", key).(string); return s }
	group, _, ok := strings.Cut(str("apiVersion"), "/")
	if !ok {
		group = ""
	}
	c := Claimant{
		ID:     o.ID(),
		Target: object.ID{Group: group, Kind: str("kind"), Namespace: o.Namespace(), Name: str("name")},
		Min:    1, // the API's default of spec.minReplicas
	}
	if n, ok := o.At("spec", "minReplicas").(int64); ok {
		c.Min = n
	}
	c.Max, _ = o.At("spec", "maxReplicas").(int64)
	return c, c.Target.Kind != "" && c.Target.Name != ""
}

// Index answers which claimants target an object, in constant time.
type Index map[object.ID][]Claimant

// NewIndex sorts claimants by what they target. The same claimant found twice (in Git and live) counts once.
func NewIndex(claimants []Claimant) Index {
	newest := make(map[object.ID]Claimant, len(claimants))
	for _, c := range claimants {
		newest[c.ID] = c
	}
	ix := make(Index, len(newest))
	for _, c := range newest {
		key := indexKey(c.Target)
		ix[key] = append(ix[key], c)
	}
	return ix
}

// Add puts in a claimant; one of the same ID is replaced, whatever it targeted. It looks at the whole index.
func (ix Index) Add(c Claimant) {
	for key, list := range ix {
		ix[key] = slices.DeleteFunc(list, func(other Claimant) bool { return other.ID == c.ID })
	}
	key := indexKey(c.Target)
	ix[key] = append(ix[key], c)
}

// indexKey leaves the group out, since a claimant may name none.
func indexKey(id object.ID) object.ID {
	id.Group = ""
	return id
}

// For returns the claims on the object, by claimant.
func (ix Index) For(id object.ID) []Claim {
	var out []Claim
	for _, c := range ix[indexKey(id)] {
		if c.Target.Group != "" && c.Target.Group != id.Group {
			continue
		}
		out = append(out, Claim{
			Path: Replicas(), By: c.ID, Min: c.Min, Max: c.Max,
			Evidence: fmt.Sprintf("%s %s/%s scales %s %s between %d and %d (spec.scaleTargetRef)",
				kindName(c.ID.Kind), c.ID.Namespace, c.ID.Name, c.Target.Kind, c.Target.Name, c.Min, c.Max),
		})
	}
	slices.SortFunc(out, func(a, b Claim) int { return a.By.Compare(b.By) })
	return out
}
