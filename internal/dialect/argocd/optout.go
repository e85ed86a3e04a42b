package argocd

import (
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
)

// The annotations by which an object opts out of what Argo CD does with the others.
const (
	syncOptionsKey    = theirs + "sync-options"
	compareOptionsKey = theirs + "compare-options"
)

const onlyOnApplication = "has no effect on a single object: it is an option of the Application"

// optOuts are the options that an object may have. Pruning is asked of the live object (PruneRules).
var optOuts = objectOptions()

// PruneRules are the options of a live object that say what becomes of it when Git no longer names it, and when its Application is deleted.
// Nothing confirms Delete=confirm.
var PruneRules = optout.PruneRules{
	{Key: syncOptionsKey, Value: "Prune=false", Match: optout.Item, Effect: optout.KeepUnlessEnd},
	{Key: syncOptionsKey, Value: "Delete=false", Match: optout.Item, Effect: optout.OutliveApp},
	{Key: syncOptionsKey, Value: deleteConfirm, Match: optout.Item, Effect: optout.OutliveApp, NeedsConfirmation: true},
	{Key: syncOptionsKey, Value: pruneConfirm, Match: optout.Item, Effect: optout.ConfirmPrune, NeedsConfirmation: true},
	{Key: compareOptionsKey, Value: ignoreExtraneous, Match: optout.Item, Effect: optout.Uncounted},
}

// Switches is the annotation by which people stop the work on an Application.
var Switches = optout.Switches{{Group: "argoproj.io", Path: field.NewPath("metadata", "annotations", skipKey), Stop: skips}}

// skips are the texts of the annotation that Argo CD takes for true: those of strconv.ParseBool.
var skips = []any{"true", "True", "TRUE", "t", "T", "1"}

func objectOptions() optout.Rules {
	out := optout.Rules{
		{Key: compareOptionsKey, Value: ignoreExtraneous, Match: optout.Item},
		{Key: compareOptionsKey, Value: "ServerSideDiff", Match: optout.Item, Effect: optout.Remark, Why: onlyOnApplication},
		{Key: compareOptionsKey, Value: "IncludeMutationWebhook", Match: optout.Item, Effect: optout.Remark, Why: onlyOnApplication},
	}
	for text, o := range options {
		name, _, _ := strings.Cut(text, "=")
		x := optout.Rule{Key: syncOptionsKey, Value: text, Match: optout.Item, Why: o.why}
		switch {
		case slices.Contains(ofApplications, name):
			x.Effect, x.Why = optout.Remark, onlyOnApplication
		case text == pruneConfirm:
			x.Why = ""
		case text == deleteConfirm:
			x.Effect, x.Why = optout.Remark, "keeps the object when the Application is deleted: nothing confirms the deletion"
		case text == forceObject:
			x.Effect, x.Why = optout.Recreate, ""
		case o.why != "":
			x.Effect = optout.Remark
		}
		out = append(out, x)
	}
	return out
}

// ofApplications are the sync options that Argo CD reads from an Application alone.
var ofApplications = []string{
	"CreateNamespace", "PrunePropagationPolicy", "ApplyOutOfSyncOnly", "FailOnSharedResource", "RespectIgnoreDifferences", "ClientSideApplyMigration",
}

const ignoreExtraneous = "IgnoreExtraneous"

// compareOptions reads the Application's own compare options.
func (r *reading) compareOptions(cr object.Object) {
	text, _ := cr.Annotation(compareOptionsKey)
	for _, item := range optout.ListItems(text) {
		at := "annotation " + compareOptionsKey
		switch item {
		case "ServerSideDiff=true": // what truce does in any case
		case "ServerSideDiff=false":
			r.Note("%s: %s has no effect: objects are always compared with what the API server makes of them", at, item)
		case "IncludeMutationWebhook=true":
			r.Note("%s: %s has no effect: what admission changes is always compared", at, item)
		case ignoreExtraneous:
			r.Note("%s: %s has no effect on an Application: it is an option of single objects", at, item)
		default:
			r.Note("%s: %s has no effect: no such option", at, item)
		}
	}
}

// confirmKey is the annotation with the time at which a person has agreed to delete objects with Prune=confirm, as argocd app confirm-deletion writes it.
const confirmKey = theirs + "deletion-approved"

// confirmedAt is that time; zero for none, and for what is no time, as in Argo CD.
func confirmedAt(cr object.Object) time.Time {
	text, _ := cr.Annotation(confirmKey)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
