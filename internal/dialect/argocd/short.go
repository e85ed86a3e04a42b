package argocd

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// omission says which lists of a status are left out. Two of them grow with the objects of an Application: beyond some thousands the API server refuses each
// status because of its size, also the one that says that an operation has ended.
type omission int

const (
	whole          omission = iota
	withoutResults          // of the newest operation
	withoutObjects          // and without those
)

// What the condition notListed says of each of the two lists.
const (
	resultsOmitted = "status.operationState.syncResult.resources has hooks only: with all objects the API server would refuse the status as too large"
	objectsOmitted = "status.resources has hooks only: with all objects the API server would refuse the status as too large; `truce dashboard` shows all objects"
)

// ShortStatus returns the status without the results of the newest operation (step 1), and without the list of objects (step 2). What hooks have left stays in
// both, and so does what is known from Argo CD's list alone.
func (Applications) ShortStatus(cr object.Object, r report.Report, step int) map[string]any {
	if without := omission(step); without <= withoutObjects {
		return statusOf(cr, r, without)
	}
	return nil
}

// shortened is a status without lists, and with a condition for each that is left out: now, or before and as it was then.
func (s applicationStatus) shortened(without omission, cr object.Object, r report.Report, had applicationStatus) applicationStatus {
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c condition) bool { return c.Type == notListed })
	results, objects := s.OperationState.isRestOf(had), !objectsKnown(r) && had.says(objectsOmitted)
	if without != whole && s.OperationState.listsObjects() {
		s.OperationState, results = s.OperationState.ofHooks(), true
	}
	if without == withoutObjects {
		rest := slices.DeleteFunc(slices.Clone(s.Resources), func(o resourceStatus) bool { return !o.Hook })
		rest = append(rest, inherited(cr, r, had.Resources)...)
		s.Resources, objects = rest, objects || len(rest) < len(s.Resources)
	}
	if results {
		s.Conditions = append(s.Conditions, had.omissionOf(resultsOmitted, r))
	}
	if objects {
		s.Conditions = append(s.Conditions, had.omissionOf(objectsOmitted, r))
	}
	return s
}

// says reports whether the status has a condition about a list that is left out.
func (s applicationStatus) says(message string) bool {
	return slices.ContainsFunc(s.Conditions, func(c condition) bool { return c.Type == notListed && c.Message == message })
}

// omissionOf is the condition about a list, with its time where the status has it already.
func (s applicationStatus) omissionOf(message string, r report.Report) condition {
	for _, c := range s.Conditions {
		if c.Type == notListed && c.Message == message {
			return c
		}
	}
	return condition{Type: notListed, Message: message, LastTransitionTime: formatTime(observedAt(r))}
}

// isRestOf reports whether an operation is that of a status which has left its results out, and still has none.
func (s *operationState) isRestOf(had applicationStatus) bool {
	return s != nil && had.OperationState != nil && s.StartedAt == had.OperationState.StartedAt && had.says(resultsOmitted) && !s.listsObjects()
}

// listsObjects reports whether an operation has results of others than hooks.
func (s *operationState) listsObjects() bool {
	return s != nil && s.SyncResult != nil && slices.ContainsFunc(s.SyncResult.Resources, isNoHook)
}

// ofHooks is an operation with the results of its hooks alone.
func (s *operationState) ofHooks() *operationState {
	operation, result := *s, *s.SyncResult
	result.Resources = slices.DeleteFunc(slices.Clone(result.Resources), isNoHook)
	operation.SyncResult = &result
	return &operation
}

func isNoHook(r resourceResult) bool { return r.HookType == "" }
