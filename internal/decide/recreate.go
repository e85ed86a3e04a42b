package decide

import (
	"errors"

	"github.com/truce-gitops/truce/internal/model/object"
)

// holdsData are the kinds of which a deletion takes data or other objects along that a creation does not bring back.
var holdsData = map[string]bool{"Namespace": true, "CustomResourceDefinition": true, "PersistentVolume": true, "PersistentVolumeClaim": true}

// Why an object is not recreated.
var (
	errHoldsData    = errors.New("not recreated: what it holds would be deleted with it; delete it yourself, and truce creates it as Git has it")
	errNotOurs      = errors.New("not recreated: truce has never applied it; delete it yourself, and truce creates it as Git has it")
	errBeingDeleted = errors.New("it is being deleted, and is created as Git has it once it is gone")
)

// PlanRecreate is the step for an object whose change the API server refuses, where Git asks to delete and create it then: `force` of a
// Kustomization, or of the object. live is what the change was refused for, and body what was sent.
func (in Input) PlanRecreate(live, body object.Object) (Step, error) {
	want, _ := in.Desired.Label(object.PartOf)
	have, marked := live.Label(object.PartOf)
	switch {
	case live.At("metadata", "deletionTimestamp") != nil:
		return Step{}, errBeingDeleted
	case !marked || have != want || !hasTruceMark(live):
		return Step{}, errNotOurs
	case holdsData[live.ID().Kind]:
		return Step{}, errHoldsData
	}
	return Step{Verb: Recreate, Body: body, Reason: in.Treatment.Recreate}, nil
}
