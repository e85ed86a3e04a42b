package optout

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// PruneRule is one value of an annotation or label by which a live object asks for another treatment when Git no longer names it, or when its
// app is deleted.
type PruneRule struct {
	Key, Value string
	Match      Match
	Effect     PruneEffect
	// NeedsConfirmation says that in its own tool a person has to confirm the deletion.
	NeedsConfirmation bool
}

// PruneEffect is what a PruneRule asks for.
type PruneEffect string

// The values of PruneEffect.
const (
	Keep          PruneEffect = "keep"            // it is never deleted
	KeepUnlessEnd PruneEffect = "keep unless end" // it is deleted with its app alone
	OutliveApp    PruneEffect = "outlive app"     // it stays when its app is deleted
	ConfirmPrune  PruneEffect = "confirm"         // it is deleted after an approval
	Uncounted     PruneEffect = "uncounted"       // while it stays, it is no difference of its app
)

// PruneRules are the prune rules of all dialects: an object that one tool's mark protects is not deleted because another tool's app names it.
type PruneRules []PruneRule

// Mark is an annotation or label of an object, with the value that matched.
type Mark struct{ What, Key, Value string }

// String prints the mark as "annotation helm.sh/resource-policy: keep".
func (m Mark) String() string { return m.What + " " + m.Key + ": " + m.Value }

// Find returns the first mark of the object that asks for the effect.
func (all PruneRules) Find(live object.Object, effect PruneEffect) (Mark, bool) {
	for _, r := range all {
		if r.Effect != effect {
			continue
		}
		if m, found := r.find(live); found {
			return m, true
		}
	}
	return Mark{}, false
}

// Confirmation is what an object says about the confirmation of its deletion by a person.
type Confirmation struct {
	Asked bool // it asks for one
	// OwnPrune and OwnDelete say that it has the option by itself by which an app asks for that, with one of the option's values: of when Git no longer
	// names it, and of when its app is deleted.
	OwnPrune, OwnDelete bool
}

// ConfirmationOf returns what an object says about the confirmation of its deletion.
func (all PruneRules) ConfirmationOf(o object.Object) (c Confirmation) {
	for _, r := range all {
		if !r.NeedsConfirmation {
			continue
		}
		_, asks := r.find(o)
		has := r.hasOption(o)
		c.Asked = c.Asked || asks
		c.OwnPrune = c.OwnPrune || has && r.Effect == ConfirmPrune
		c.OwnDelete = c.OwnDelete || has && r.Effect == OutliveApp
	}
	return c
}

// optionValues are those of an option that asks for a confirmation. Another value is a typing error, and says nothing: the app's option counts.
var optionValues = []string{"true", "false", "confirm"}

// hasOption reports whether an object has the rule's option.
func (r PruneRule) hasOption(o object.Object) bool {
	text, _ := o.Annotation(r.Key)
	name, _, _ := strings.Cut(r.Value, "=")
	return slices.ContainsFunc(ListItems(text), func(item string) bool {
		value, is := strings.CutPrefix(item, name+"=")
		return is && slices.Contains(optionValues, value)
	})
}

func (r PruneRule) find(live object.Object) (Mark, bool) {
	annotation, annotated := live.Annotation(r.Key)
	if r.Match == Item {
		return Mark{"annotation", r.Key, r.Value}, annotated && slices.Contains(ListItems(annotation), r.Value)
	}
	if annotated && strings.EqualFold(annotation, r.Value) {
		return Mark{"annotation", r.Key, annotation}, true
	}
	label, labeled := live.Label(r.Key)
	return Mark{"label", r.Key, label}, labeled && strings.EqualFold(label, r.Value)
}
