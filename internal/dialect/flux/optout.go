package flux

import (
	"slices"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/optout"
)

const toolkit = "kustomize.toolkit.fluxcd.io/"

// optOuts are the annotations and labels by which an object opts out of what kustomize-controller does with the others. Pruning is
// asked of the live object (PruneRules).
var optOuts = optout.Rules{
	{Key: toolkit + "reconcile", Value: "disabled", Match: optout.Word, Effect: optout.NeverApply},
	{Key: toolkit + "reconcile", Value: "enabled", Match: optout.Word},
	{Key: toolkit + "ssa", Value: "Override", Match: optout.Word},
	{Key: toolkit + "ssa", Value: "Merge", Match: optout.Word, Effect: optout.MergeOnly},
	{Key: toolkit + "ssa", Value: "IfNotPresent", Match: optout.Word, Effect: optout.CreateOnly},
	{Key: toolkit + "ssa", Value: "Ignore", Match: optout.Word, Effect: optout.NeverApply},
	{Key: toolkit + "force", Value: "enabled", Match: optout.Word, Effect: optout.Recreate},
	{Key: toolkit + "force", Value: "disabled", Match: optout.Word},
	{Key: toolkit + "prune", Value: "disabled", Match: optout.Word},
	{Key: toolkit + "prune", Value: "enabled", Match: optout.Word},
}

// helmOptOuts are those of a chart's objects, which may also opt out of drift detection.
var helmOptOuts = append(slices.Clone(optOuts), optout.Rule{
	Key: helmv2.DriftDetectionMetadataKey, Value: helmv2.DriftDetectionDisabledValue, Match: optout.Word, Effect: optout.KeepDrift,
})

// Switches is spec.suspend, of every kind of Flux.
var Switches = optout.Switches{{Group: "toolkit.fluxcd.io", Path: field.NewPath("spec", "suspend"), Stop: []any{true}}}

// PruneRules are the annotations and labels by which a live object asks kustomize-controller not to delete it.
var PruneRules = optout.PruneRules{
	{Key: toolkit + "prune", Value: "disabled", Match: optout.Word, Effect: optout.Keep},
	{Key: toolkit + "reconcile", Value: "disabled", Match: optout.Word, Effect: optout.Keep},
	{Key: toolkit + "ssa", Value: "ignore", Match: optout.Word, Effect: optout.Keep},
}
