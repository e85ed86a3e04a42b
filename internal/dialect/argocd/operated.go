package argocd

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	kjson "sigs.k8s.io/json"
)

// operationStateOf returns the newest rollout as an operation. One that this process knows nothing of stays as it is.
func operationStateOf(cr object.Object, r report.Report, spec applicationSpec, had *operationState) *operationState {
	o := r.Rollout
	if o.Begun.IsZero() {
		return healedOperation(r, had)
	}
	if superseded(cr, o, had) {
		return had
	}
	if o.IsLeft {
		return had.endedAs(o)
	}
	s := &operationState{Operation: operationOf(cr, o, spec, had), StartedAt: formatTime(o.Begun), SyncResult: &syncResult{}}
	s.setProgress(o)
	s.SyncResult.Revision, s.SyncResult.Revisions = revisionsOf(cr, o.Revision)
	s.SyncResult.Source, s.SyncResult.Sources = sourcesOf(cr)
	s.SyncResult.ManagedNamespaceMetadata = object.CloneValue(cr.At("spec", "syncPolicy", "managedNamespaceMetadata"))
	if s.isEndOf(had, o) || s.abandons(had, o) { // the spec may be another one by now
		s.Operation = had.Operation
		s.SyncResult.Source, s.SyncResult.Sources = had.SyncResult.Source, had.SyncResult.Sources
		s.SyncResult.ManagedNamespaceMetadata = had.SyncResult.ManagedNamespaceMetadata
	}
	if s.Phase == phaseRunning && had != nil && had.Phase == phaseTerminating { // until the run that ends it
		s.Phase = phaseTerminating
	}
	s.SyncResult.Resources = resultsOfRollout(o)
	return s
}

// isEndOf reports whether the operation that a status had is the same one, of a rollout, and had ended as this one has.
func (s *operationState) isEndOf(had *operationState, o report.Rollout) bool {
	if s.FinishedAt == "" || had == nil || had.SyncResult == nil || had.StartedAt != s.StartedAt || had.FinishedAt != s.FinishedAt {
		return false
	}
	if had.SyncResult.Revision != s.SyncResult.Revision || !slices.Equal(had.SyncResult.Revisions, s.SyncResult.Revisions) {
		return false
	}
	if o.Order.Token == "" {
		return object.Object(had.Operation).At("initiatedBy", "automated") == true
	}
	return tokenOf(had.Operation) == o.Order.Token
}

// abandons reports whether an operation ends as one that this process has begun for a revision, and goes on with no more.
func (s *operationState) abandons(had *operationState, o report.Rollout) bool {
	return o.Reason == report.OperationAbandoned && had != nil && had.SyncResult != nil && !hasFinished(had) && had.StartedAt == s.StartedAt
}

// resultsOfRollout is what became of each object: first of what comes before the hooks.
func resultsOfRollout(o report.Rollout) (out []resourceResult) {
	var later []resourceResult
	for _, each := range o.Outcomes {
		result := resultOf(each)
		if o.Order.Mode != "" {
			result.Message += " (dry run)"
		}
		if each.IsFirst {
			out = append(out, result)
		} else {
			later = append(later, result)
		}
	}
	for _, h := range o.Hooks {
		out = append(out, hookResultOf(h))
	}
	return append(out, later...)
}

// healedOperation is an operation that an earlier process has left: where that was a correction of drift that failed, it has succeeded by the time that nothing
// differs.
func healedOperation(r report.Report, had *operationState) *operationState {
	if had == nil || !isHealing(had.Operation) || had.Phase != phaseFailed || r.Running || r.Stage != report.Done || r.State().Sync != report.Synced {
		return had
	}
	now := *had
	now.Phase, now.Message, now.FinishedAt = phaseSucceeded, "successfully synced (all tasks run)", formatTime(observedAt(r))
	return &now
}

// endedAs is an operation that an earlier process has left, as this one has ended it. Its hooks that ran were stopped.
func (s *operationState) endedAs(o report.Rollout) *operationState {
	if s == nil || hasFinished(s) || s.StartedAt != formatTime(o.Begun) {
		return s
	}
	now := *s
	now.Phase, now.Message = phaseOf(o)
	now.FinishedAt = formatTime(o.Ended)
	o.Tries = int(s.RetryCount)
	now.RetryCount = retriesOf(s.Operation, o)
	if now.SyncResult == nil || o.Reason == report.Succeeded {
		return &now
	}
	result := *now.SyncResult
	result.Resources = slices.Clone(result.Resources)
	for i, of := range result.Resources {
		if of.HookType != "" && of.HookPhase == phaseRunning {
			result.Resources[i].HookPhase, result.Resources[i].Message = phaseFailed, o.Message
		}
	}
	now.SyncResult = &result
	return &now
}

// superseded reports whether an operation was taken up since the rollout: what is reported of it then is late, and would overwrite what
// was requested.
func superseded(cr object.Object, o report.Rollout, had *operationState) bool {
	if had == nil || had.Phase != phaseRunning && had.Phase != phaseTerminating || had.StartedAt < formatTime(o.Begun) {
		return false
	}
	if o.Order.Token == "" {
		return object.Object(had.Operation).At("initiatedBy", "automated") != true || isBegun(cr)
	}
	asked, _ := cr["operation"].(map[string]any)
	return tokenOf(asked) != o.Order.Token && tokenOf(had.Operation) != o.Order.Token
}

// operationOf is the operation as it was asked for, or for a new revision the one that Argo CD would have begun.
func operationOf(cr object.Object, o report.Rollout, spec applicationSpec, had *operationState) map[string]any {
	if o.Order.Token != "" {
		if asked, ok := cr["operation"].(map[string]any); ok && tokenOf(asked) == o.Order.Token {
			return object.CloneValue(asked).(map[string]any)
		}
		if had != nil && tokenOf(had.Operation) == o.Order.Token {
			return had.Operation
		}
		return map[string]any{"sync": syncRequest(cr, o), "initiatedBy": map[string]any{"username": o.Order.By}}
	}
	sync := syncRequest(cr, o)
	maps.Copy(sync, sourceFields(cr))
	if o.Healing {
		sync["resources"], sync[healAttempts] = healedResources(o), int64(o.Tries+1)
	}
	if p := spec.SyncPolicy; p != nil && p.Automated != nil && p.Automated.Prune {
		sync["prune"] = true
	}
	if p := spec.SyncPolicy; p != nil && len(p.SyncOptions) > 0 {
		sync["syncOptions"] = anyStrings(p.SyncOptions)
	}
	out := map[string]any{"sync": sync, "initiatedBy": map[string]any{"automated": true}}
	if limit := cr.At("spec", "syncPolicy", "retry"); limit != nil {
		out["retry"] = object.CloneValue(limit)
	} else {
		out["retry"] = map[string]any{"limit": int64(automatedTries)}
	}
	return out
}

// healedResources are the objects that the correction of drift is about.
func healedResources(o report.Rollout) []any {
	var out []any
	for _, of := range o.Outcomes {
		one := map[string]any{"kind": of.ID.Kind, "name": of.ID.Name}
		if of.ID.Group != "" {
			one["group"] = of.ID.Group
		}
		out = append(out, one)
	}
	return out
}

func resultOf(o report.Outcome) resourceResult {
	out := resourceResult{
		Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name, SyncPhase: "Sync",
		Status: "Synced", HookPhase: phaseSucceeded, Message: o.Message,
	}
	if o.IsFirst {
		out.SyncPhase = "PreSync"
	}
	switch o.Fate {
	case report.Failed:
		out.Status, out.HookPhase = "SyncFailed", phaseFailed
	case report.Pruned:
		out.Status = "Pruned"
		out.Message = textOrDefault(o.Message, "pruned")
	case report.Spared:
		out.Status = "PruneSkipped"
		out.Message = textOrDefault(o.Message, "ignored (requires pruning)")
	default:
		out.Message = textOrDefault(o.Message, resourceName(o.ID)+" serverside-applied")
	}
	return out
}

// resourceName is how kubectl names an object: deployment.apps/web.
func resourceName(id object.ID) string {
	name := strings.ToLower(id.Kind)
	if id.Group != "" {
		name += "." + id.Group
	}
	return name + "/" + id.Name
}

// syncRequest is the request for a revision of the source, or of each of several.
func syncRequest(cr object.Object, o report.Rollout) map[string]any {
	one, many := revisionsOf(cr, o.Revision)
	if many != nil {
		return map[string]any{"revisions": anyStrings(many)}
	}
	return map[string]any{"revision": one}
}

// sourcesOf are the source as it is written, or several.
func sourcesOf(cr object.Object) (one, many any) {
	if hasManySources(cr) {
		return nil, object.CloneValue(cr.At("spec", "sources"))
	}
	return object.CloneValue(cr.At("spec", "source")), nil
}

// sourceFields are the same, by the names of their fields.
func sourceFields(cr object.Object) map[string]any {
	one, many := sourcesOf(cr)
	if many != nil {
		return map[string]any{"sources": many}
	}
	return map[string]any{"source": one}
}

// historyLength is how many entries the history has where the Application does not say otherwise.
const historyLength = 10

// history adds a rollout that went through as a whole, once. Times are in seconds, and an operation may follow another one on the same
// revision within one: what was under way before this status and has now ended is never the entry that is there.
func history(cr object.Object, r report.Report, before applicationStatus, now *operationState) []historyEntry {
	o := r.Rollout
	done := !o.Ended.IsZero() && o.Reason == report.Succeeded && isFullSync(o.Order) && !o.Healing
	had, begun := before.History, formatTime(o.Begun)
	revision, revisions := revisionsOf(cr, o.Revision)
	same := len(had) > 0 && had[len(had)-1].DeployStartedAt == begun && had[len(had)-1].Revision == revision && slices.Equal(had[len(had)-1].Revisions, revisions)
	finishes := before.OperationState != nil && !hasFinished(before.OperationState) && hasFinished(now)
	out := slices.Clone(had)
	if done && (finishes || !same) {
		entry := historyEntry{Revision: revision, Revisions: revisions, DeployStartedAt: begun, DeployedAt: formatTime(o.Ended)}
		entry.Source, entry.Sources = sourcesOf(cr)
		if now != nil && now.SyncResult != nil && now.StartedAt == begun {
			entry.Source, entry.Sources = object.CloneValue(now.SyncResult.Source), object.CloneValue(now.SyncResult.Sources)
		}
		entry.InitiatedBy = &initiator{Username: o.Order.By, Automated: o.Order.Token == "" || o.Order.Automated}
		if len(had) > 0 {
			entry.ID = had[len(had)-1].ID + 1
		}
		out = append(out, entry)
	}
	return out
}

// limited keeps the newest entries, as many as the spec wants.
func limited(all []historyEntry, spec applicationSpec) []historyEntry {
	limit := historyLength
	if spec.RevisionHistoryLimit != nil && *spec.RevisionHistoryLimit >= 0 {
		limit = int(min(*spec.RevisionHistoryLimit, 1000))
	}
	return all[max(0, len(all)-limit):]
}

// appliedRevision is the revision of the newest operation that went through, as long as files come from the same place: of several sources those of
// all, with spaces between. It is empty where the newest operation does not show that the namespace has the labels and annotations that the spec wants.
func appliedRevision(s runStatus, spec applicationSpec) string {
	var was syncResult
	if n := len(s.History); n > 0 {
		h := s.History[n-1]
		was = syncResult{Revision: h.Revision, Revisions: h.Revisions, Source: h.Source, Sources: h.Sources}
	}
	var metadata any // the history does not have it
	if o := s.OperationState; o != nil && o.SyncResult != nil && (o.Phase == phaseSucceeded || isHealing(o.Operation)) {
		order := readOrder(o.Operation, spec)
		if isFullSync(order) {
			was = *o.SyncResult
		}
		if order.Mode == "" { // one on some of the objects writes the namespace, too, and drift is put back of what was brought out
			metadata = o.SyncResult.ManagedNamespaceMetadata
		}
	}
	if !sameMetadata(metadata, spec) {
		return ""
	}
	var from applicationSource
	var all []applicationSource
	if decodeInto(was.Source, &from) != nil || decodeInto(was.Sources, &all) != nil {
		return ""
	}
	now, _ := (&reading{}).oneSource(spec)
	switch {
	case len(spec.Sources) > 0 && sameSources(all, spec.Sources):
		return strings.Join(was.Revisions, " ")
	case len(spec.Sources) < 2 && sameFiles(from, now): // of one in the list, too, as older versions of truce have written it
		return was.Revision
	}
	return ""
}

// sameMetadata reports whether an operation was about the labels and annotations that the spec wants of the namespace, if it wants any.
func sameMetadata(was any, spec applicationSpec) bool {
	if spec.SyncPolicy == nil || spec.SyncPolicy.ManagedNamespaceMetadata == nil {
		return true
	}
	var had namespaceMetadata
	now := *spec.SyncPolicy.ManagedNamespaceMetadata
	return decodeInto(was, &had) == nil && maps.Equal(had.Labels, now.Labels) && maps.Equal(had.Annotations, now.Annotations)
}

// failedOperation is the newest operation, if it was an automated one that has failed and has no retries left, as long as files come from the same place, and
// the spec wants the same of the namespace. An adopted Application begins with an operation of its own.
func failedOperation(cr object.Object, o *operationState, spec applicationSpec) (revision, message string) {
	if how, _ := cr.Annotation(reader.AdoptedKey); how != "" || o == nil || o.Phase != phaseFailed || o.SyncResult == nil {
		return "", ""
	}
	operation := object.Object(o.Operation)
	limit := retryLimit(o.Operation)
	if operation.At("initiatedBy", "automated") != true || operation["retry"] == nil || limit < 0 || o.RetryCount != limit || !isOfSources(*o.SyncResult, spec) {
		return "", ""
	}
	if !sameMetadata(o.SyncResult.ManagedNamespaceMetadata, spec) {
		return "", ""
	}
	return oneText(o.SyncResult.Revision, o.SyncResult.Revisions), strings.TrimSuffix(o.Message, retriedText(limit))
}

// isOfSources reports whether an operation was about the sources of a spec.
func isOfSources(was syncResult, spec applicationSpec) bool {
	var from applicationSource
	var all []applicationSource
	if decodeInto(was.Source, &from) != nil || decodeInto(was.Sources, &all) != nil {
		return false
	}
	if len(spec.Sources) > 0 {
		return sameSources(all, spec.Sources)
	}
	now, _ := (&reading{}).oneSource(spec)
	return sameFiles(from, now)
}

func decodeInto(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// isFullSync reports whether an order is about all objects, and to be carried out.
func isFullSync(o app.SyncRequest) bool { return o.Mode == "" && len(o.Objects) == 0 }

func sourceType(r report.Report, had string) string {
	switch r.Layout {
	case app.KustomizedLayout:
		return "Kustomize"
	case app.ChartLayout:
		return "Helm"
	case app.PlainLayout:
		return "Directory"
	default:
		return had
	}
}

func decodeNumbers(text []byte, into *map[string]any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}
