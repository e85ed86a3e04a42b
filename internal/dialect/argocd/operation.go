package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// order reads what is requested: the field operation, or the operation that is under way, in the status. The field stays until that has ended: it distinguishes
// an automated operation that another program asks for, such as an ApplicationSet's rolling sync, from one that truce has begun by itself. What is
// wrong with it is said by the order's own end, and hinders no other app.
func (r *reading) order(cr object.Object, spec applicationSpec) app.SyncRequest {
	state, _ := cr.At("status", "operationState").(map[string]any)
	asked, ok := state["operation"].(map[string]any)
	if requested, is := cr["operation"].(map[string]any); is && !isBegun(cr) {
		return readOrder(requested, spec)
	}
	if !ok || !isUnderWay(state) {
		return app.SyncRequest{}
	}
	if by, _ := object.Object(asked).At("initiatedBy", "automated").(bool); by && !isBegun(cr) {
		return app.SyncRequest{} // it is begun again by its reason, where that still holds
	}
	o := readOrder(asked, spec)
	started, _ := state["startedAt"].(string)
	o.StartedAt, _ = time.Parse(time.RFC3339, started)
	if o.StartedAt.IsZero() { // another client has written it; all that counts is that it was begun
		o.StartedAt = time.Unix(0, 0)
	}
	return o
}

// isUnderWay reports whether an operation has not ended.
func isUnderWay(state map[string]any) bool {
	return state["phase"] == phaseRunning || state["phase"] == phaseTerminating
}

// isBegun reports whether the operation that the field asks for is the one under way.
func isBegun(cr object.Object) bool {
	state, _ := cr.At("status", "operationState").(map[string]any)
	asked, ok := cr["operation"].(map[string]any)
	of, known := state["operation"].(map[string]any)
	return ok && known && isUnderWay(state) && tokenOf(asked) == tokenOf(of)
}

// terminating reports whether a person wants an operation ended, and by which request it was begun.
func terminating(cr object.Object) (on bool, request string) {
	state, _ := cr.At("status", "operationState").(map[string]any)
	if state["phase"] != phaseTerminating {
		return false, ""
	}
	asked, _ := state["operation"].(map[string]any)
	if by, _ := object.Object(asked).At("initiatedBy", "automated").(bool); by && !isBegun(cr) {
		return true, ""
	}
	return true, tokenOf(asked)
}

// leftOperation is the automated operation that is under way.
func leftOperation(cr object.Object, o *operationState, spec applicationSpec) (left app.LeftOperation) {
	if o == nil || o.Phase != phaseRunning && o.Phase != phaseTerminating || object.Object(o.Operation).At("initiatedBy", "automated") != true || isBegun(cr) {
		return left
	}
	left.Begun, _ = time.Parse(time.RFC3339, o.StartedAt)
	if o.SyncResult != nil && isOfSources(*o.SyncResult, spec) {
		left.Revision = oneText(o.SyncResult.Revision, o.SyncResult.Revisions)
	}
	return left
}

// isHealing reports whether an operation puts drift back.
func isHealing(operation map[string]any) bool {
	sync, _ := operation["sync"].(map[string]any)
	return sync[healAttempts] != nil || sync[oldHealAttempts] != nil
}

// healAttempts is the field of an operation's sync by which it puts drift back. An earlier truce wrote the other name, which the definition of Argo CD does not have.
const (
	healAttempts    = "autoHealAttemptsCount"
	oldHealAttempts = "selfHealAttemptsCount"
)

// tokenOf identifies an operation by all that is in it, read or not.
func tokenOf(operation map[string]any) string {
	text, err := json.Marshal(operation) // decoded JSON always encodes, with sorted keys
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func readOrder(asked map[string]any, spec applicationSpec) app.SyncRequest {
	o := app.SyncRequest{Token: tokenOf(asked)}
	r := &reading{}
	var op operation
	r.Fields("operation", asked, &op)
	o.By, o.Automated = op.InitiatedBy.Username, op.InitiatedBy.Automated
	if op.Sync == nil {
		r.Problem("operation", "asks for nothing: want sync")
	} else {
		r.sync(&o, *op.Sync, spec)
	}
	if op.Retry != nil {
		o.Retry, o.Backoff = r.retry("operation.retry", op.Retry, app.OnRequest)
		if o.Backoff.Limit < 0 {
			o.Retry = 0
		}
	}
	if len(r.Problems) > 0 {
		o.Refused = sentences(r.Problems)
	}
	return o
}

func (r *reading) sync(o *app.SyncRequest, s syncOperation, spec applicationSpec) {
	const at = "operation.sync"
	o.Revision = s.Revision
	o.Prune = policy.PruneReport
	if s.Prune {
		o.Prune = policy.PruneDelete
	}
	o.PruneRestraint = restraintOf(s.SyncOptions, pruneNever, pruneConfirm)
	o.ListsWritten = slices.Contains(s.SyncOptions, applyOutOfSyncOnly)
	o.MakeNamespace = slices.Contains(s.SyncOptions, createNamespace)
	if s.DryRun {
		o.Mode = policy.Preview
	}
	switch {
	case len(s.Manifests) > 0:
		r.Unsupported(at+".manifests", "objects come from the repository only")
	case len(spec.Sources) > 1:
		r.revisions(o, s, spec)
	case len(s.Revisions) > 1 || len(s.Sources) > 1:
		r.Problem(at+".revisions", "the Application has one source")
	case len(s.Revisions) == 1:
		o.Revision = s.Revisions[0]
	}
	if s.Source != nil && s.Source.RepoURL != "" && len(spec.Sources) < 2 {
		r.otherSource(o, *s.Source, spec)
	}
	if len(s.Sources) == 1 && len(spec.Sources) == 1 {
		r.otherSource(o, s.Sources[0], spec)
	}
	r.strategy(o, at, s)
	for _, sel := range s.Resources {
		if sel.Exclude {
			r.Unsupported(at+".resources", "name the objects that are meant, not those that are not")
		}
		o.Objects = append(o.Objects, object.ID{Group: sel.Group, Kind: sel.Kind, Namespace: sel.Namespace, Name: sel.Name})
	}
}

// revisions reads what is synced of several sources: a revision of each, or the sources that a rollback brings along, as long as only their revisions
// are others.
func (r *reading) revisions(o *app.SyncRequest, s syncOperation, spec applicationSpec) {
	const at = "operation.sync"
	switch {
	case s.Revision != "" && len(s.Revisions) == 0:
		r.Problem(at+".revision", "the Application has several sources: want revisions, one for each")
	case len(s.Revisions) > 0 && len(s.Revisions) != len(spec.Sources):
		r.Problem(at+".revisions", "there are %d: want one for each of spec.sources, of which there are %d; an empty one for what a source follows", len(s.Revisions), len(spec.Sources))
	case len(s.Sources) > 0 && !sameSources(s.Sources, spec.Sources):
		r.Unsupported(at+".sources", "they are others than the Application's; change those first")
	}
	o.Revision, o.Revisions = "", slices.Clone(s.Revisions)
	if len(s.Revisions) == 0 {
		for _, from := range s.Sources {
			o.Revisions = append(o.Revisions, from.TargetRevision)
		}
	}
}

// sameSources reports whether sources make the same of their revisions.
func sameSources(a, b []applicationSource) bool {
	return slices.EqualFunc(a, b, func(a, b applicationSource) bool { return sameFiles(a, b) && a.Ref == b.Ref })
}

// otherSource takes the source that a rollback brings along, as long as only its revision is another one.
func (r *reading) otherSource(o *app.SyncRequest, s applicationSource, spec applicationSpec) {
	now, _ := (&reading{}).oneSource(spec)
	if !sameFiles(s, now) {
		r.Unsupported("operation.sync.source", "it is another one than the Application's; change that first")
	}
	if o.Revision == "" {
		o.Revision = s.TargetRevision
	}
}

// strategy reads whether hooks run, and refuses what would replace objects.
func (r *reading) strategy(o *app.SyncRequest, at string, s syncOperation) {
	if how := s.SyncStrategy; how != nil {
		if how.Apply != nil { // as in Argo CD also where hook is there too
			o.Hooks = hook.SkipHooks
		}
		if how.Apply != nil && how.Apply.Force || how.Hook != nil && how.Hook.Force {
			r.Problem(at+".syncStrategy", "force is not supported: Git alone asks to delete objects and to create them again, with the annotation %s: %s", syncOptionsKey, forceObject)
		}
	}
}

func sentences(problems []app.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Field + ": " + p.Reason
	}
	return strings.Join(lines, "; ")
}
