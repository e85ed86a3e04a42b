// Package uninstall answers: what has truce left in a cluster, and how is it removed without touching what users have?
//
// In: custom resources, and the objects that truce keeps for itself.
// Out: the steps, in an order that can be interrupted and begun again.
// Promise: no step deletes or changes an object of a user's, but for a finalizer that truce has added to a custom resource and, if asked for,
// truce's own label on applied objects. A finalizer that another controller has added as well stays.
// Not here: the Deployment, the roles and the CustomResourceDefinitions: what has installed them removes them (kubectl, Helm).
package uninstall

import (
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Manager is the field manager of what truce writes to custom resources.
const Manager = "truce-controller"

// Action is what a step does.
type Action string

// The actions, in the order in which they are carried out.
const (
	Unmark    Action = "remove label"     // from an applied object
	Unguard   Action = "remove finalizer" // from a custom resource
	DeleteOwn Action = "delete"           // a record of truce's own
)

// Step is one write.
type Step struct {
	Action  Action
	GVK     object.GVK
	Object  object.ID
	UID     string
	Version string // the resourceVersion that the step was planned on
	What    string // the finalizer, the label, or what the object is for
}

// Scope says what an uninstall is about.
type Scope struct {
	Namespace string // empty for all, and for what lies in none
	Marks     Marks
}

// Marks says what becomes of truce's label on applied objects.
type Marks string

// The values of Marks.
const (
	KeepMarks   Marks = ""
	RemoveMarks Marks = "remove"
)

// Leftovers is what truce has left in a cluster.
type Leftovers struct {
	Running []string // evidence of controllers that still work: they would write it again
	Steps   []Step
}

// Input is what was found.
type Input struct {
	Resources []object.Object // custom resources of the kinds that truce reads
	Records   []object.Object // what truce keeps for itself
	Marked    []object.Object // applied objects with truce's label; none where they keep it
}

// PlanRemoval returns the steps. Records go last: marks are found by them.
func PlanRemoval(in Input) []Step {
	var out []Step
	for _, o := range in.Marked {
		if _, ok := o.Label(object.PartOf); ok {
			out = append(out, removalStep(Unmark, o, object.PartOf))
		}
	}
	for _, cr := range in.Resources {
		for _, f := range WebhookGuards(cr) {
			out = append(out, removalStep(Unguard, cr, f))
		}
	}
	for _, o := range in.Records {
		out = append(out, removalStep(DeleteOwn, o, "a record of truce's own"))
	}
	return out
}

func removalStep(a Action, o object.Object, what string) Step {
	return Step{Action: a, GVK: o.GVK(), Object: o.ID(), UID: o.UID(), Version: o.ResourceVersion(), What: what}
}

// WebhookGuards returns the finalizers that truce alone has added to a custom resource.
func WebhookGuards(cr object.Object) []string {
	mine, theirs := map[string]bool{}, map[string]bool{}
	entries, _ := cr.At("metadata", "managedFields").([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		set, _ := object.Object(entry).At("fieldsV1", "f:metadata", "f:finalizers").(map[string]any)
		to := theirs
		if entry["manager"] == Manager {
			to = mine
		}
		for key := range set {
			if quoted, ok := strings.CutPrefix(key, "v:"); ok {
				to[strings.Trim(quoted, `"`)] = true
			}
		}
	}
	var out []string
	list, _ := cr.At("metadata", "finalizers").([]any)
	for _, f := range list {
		if name, _ := f.(string); mine[name] && !theirs[name] {
			out = append(out, name)
		}
	}
	return out
}
