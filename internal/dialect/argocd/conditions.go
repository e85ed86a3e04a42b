package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// The types of Argo CD's conditions that truce has a use for, and its own. Clients take a type that ends in Error for an error, in
// Warning for a warning, and any other for information.
const (
	invalidSpec    = "InvalidSpecError"
	comparison     = "ComparisonError"
	syncError      = "SyncError"
	deletionError  = "DeletionError"
	sharedResource = "SharedResourceWarning"
	repeated       = "RepeatedResourceWarning"

	fieldsCeded     = "FieldsCeded"
	fieldsAdded     = "FieldsAdded" // and only reported
	fieldsDrifted   = "FieldsDriftedWarning"
	fieldsContested = "FieldsContestedWarning"
	maybeMissing    = "ObjectMaybeMissingWarning"
	notListed       = "ObjectsNotListedWarning"
	notice          = "Notice"
)

// ownTypes are those that Argo CD does not know.
var ownTypes = []string{fieldsCeded, fieldsAdded, fieldsDrifted, fieldsContested, maybeMissing, notListed, notice}

// errorTypes are the condition that each way of ending a run gives.
var errorTypes = map[report.Reason]string{
	report.SpecRefused:         invalidSpec,
	report.AccessDenied:        invalidSpec, // as for what an AppProject does not permit
	report.SourceNotReady:      comparison,
	report.DependencyNotReady:  comparison,
	report.RenderFailed:        comparison,
	report.ValuesFailed:        comparison,
	report.ValidationFailed:    syncError,
	report.ClusterFailed:       comparison,
	report.ApplyFailed:         syncError,
	report.HookFailed:          syncError,
	report.OperationTerminated: syncError,
	report.PruneFailed:         syncError,
	report.PruneHeld:           syncError,
	report.HealthFailed:        syncError,
	report.RecordFailed:        syncError,
	report.OwnedByOther:        syncError,
}

// conditions says what is wrong, and what truce alone knows. A condition that stays keeps its time.
func conditions(cr object.Object, r report.Report, had []condition) []condition {
	var out []condition
	add := func(kind, message string) {
		if kind == "" || message == "" {
			return
		}
		c := condition{Type: kind, Message: truncateMessage(message), LastTransitionTime: formatTime(observedAt(r))}
		if i := slices.IndexFunc(had, func(h condition) bool { return h.Type == kind && h.Message == c.Message }); i >= 0 {
			c.LastTransitionTime = had[i].LastTransitionTime
		}
		out = append(out, c)
	}
	add(stopType(cr, r), r.Message)
	if r.Unfetched != "" && stopType(cr, r) != comparison {
		add(comparison, r.FetchFailure())
	}
	for _, s := range r.Shared {
		add(sharedResource, s.String())
	}
	for _, text := range r.Repeated {
		add(repeated, text)
	}
	before := ""
	if i := slices.IndexFunc(had, func(h condition) bool { return h.Type == fieldsContested }); i >= 0 {
		before = had[i].Message
	}
	add(fieldsContested, r.Contested(maxFieldNames).TextUnlessSame(before))
	if slices.Equal(commitsOf(r.Applied), commitsOf(r.Revision)) { // else it is Git that has changed, and waits for a sync
		add(fieldsDrifted, fieldNames(r, func(f report.Finding) bool { return f.Verdict == decide.Hold && !f.Reported }))
		add(fieldsAdded, fieldNames(r, func(f report.Finding) bool { return f.Reported }))
	}
	add(fieldsCeded, fieldNames(r, func(f report.Finding) bool { return f.Verdict == decide.Cede }))
	if why, suspected := r.Missing(); suspected {
		add(maybeMissing, why)
	}
	for _, n := range r.Notes {
		add(notice, n)
	}
	return out
}

// withNotice is a list of conditions with one more that is no error.
func withNotice(all []condition, r report.Report, message string) []condition {
	if slices.ContainsFunc(all, func(c condition) bool { return c.Type == notice && c.Message == message }) {
		return all
	}
	return append(slices.Clone(all), condition{Type: notice, Message: message, LastTransitionTime: formatTime(observedAt(r))})
}

// stopType is the type of the condition that says why the newest run has stopped; empty where it has not, and where that is in another condition.
func stopType(cr object.Object, r report.Report) string {
	kind, bad := errorTypes[r.Reason]
	switch ends := cr.At("metadata", "deletionTimestamp") != nil; {
	case !ends:
		return kind
	case bad:
		return deletionError
	case r.Reason == report.InProgress:
		return notice
	}
	return ""
}

// comparedWithLast ends the message of a source that was not fetched, with whose earlier revision the cluster is compared (report.FetchFailure).
const comparedWithLast = ", the last revision that was fetched"

// lastFailure is the message of the condition that says why the newest run has stopped, and the revision that it was about. That the source was not
// fetched stops no run that has an earlier revision.
func lastFailure(s runStatus) (revision, message string) {
	for _, c := range s.Conditions {
		stops := c.Type == invalidSpec || c.Type == comparison || c.Type == syncError
		if stops && !strings.HasSuffix(c.Message, comparedWithLast) {
			return cmp.Or(s.Sync.Revision, strings.Join(s.Sync.Revisions, " ")), c.Message
		}
	}
	return "", ""
}

// longestMessage keeps an Application with many messages readable, and its status small.
const longestMessage = 4000

// truncateMessage cuts a message at a character's border.
func truncateMessage(message string) string {
	if len(message) <= longestMessage {
		return message
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(message[:longestMessage-len(ellipsis)], "") + ellipsis
}

// maxFieldNames is how many fields a condition names before it counts the rest.
const maxFieldNames = 5

// fieldNames names the fields that are chosen, never their values: a condition stays the same while a value moves. Contested ones are reported with
// the evidence (report.Evidence).
func fieldNames(r report.Report, choose func(report.Finding) bool) string {
	var all []string
	for _, x := range r.FindingsWhere(choose) {
		if x.Kind == compare.Missing && len(x.Path) == 0 {
			all = append(all, x.Sentence(x.ID))
			continue
		}
		all = append(all, x.FieldName(x.ID)+claimantSuffix(x.Finding))
	}
	if len(all) > maxFieldNames {
		return fmt.Sprintf("%s, and %d more", strings.Join(all[:maxFieldNames], ", "), len(all)-maxFieldNames)
	}
	return strings.Join(all, ", ")
}

func claimantSuffix(f report.Finding) string {
	switch {
	case f.Verdict == decide.Hold:
		return " (" + f.Reason + ")"
	case f.Claimant == "":
		return ""
	case f.IsCededByRule():
		return " by " + f.Claimant + f.NotAppliedText()
	}
	return " to " + f.Claimant + f.NotAppliedText()
}
