package flux

import "github.com/truce-gitops/truce/internal/model/optout"

const toolkit = "kustomize.toolkit.fluxcd.io/"

// optOuts are the annotations and labels by which an object opts out of what kustomize-controller does with the others. Pruning is
// asked of the live object (decide.PlanPrune).
var optOuts = optout.Rules{
	{Key: toolkit + "reconcile", Value: "disabled", Match: optout.Word, Effect: optout.NeverApply},
	{Key: toolkit + "reconcile", Value: "enabled", Match: optout.Word},
	{Key: toolkit + "ssa", Value: "Override", Match: optout.Word},
	{Key: toolkit + "ssa", Value: "Merge", Match: optout.Word, Effect: optout.MergeOnly},
	{Key: toolkit + "ssa", Value: "IfNotPresent", Match: optout.Word, Effect: optout.CreateOnly},
	{Key: toolkit + "ssa", Value: "Ignore", Match: optout.Word, Effect: optout.NeverApply},
	{Key: toolkit + "force", Value: "enabled", Match: optout.Word, Effect: optout.Refuse, Why: "immutable fields are reported, and the object is left alone"},
	{Key: toolkit + "force", Value: "disabled", Match: optout.Word},
	{Key: toolkit + "prune", Value: "disabled", Match: optout.Word},
	{Key: toolkit + "prune", Value: "enabled", Match: optout.Word},
}
