package flux

import (
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/truce-gitops/truce/internal/model/app"
)

// Reasons that Flux has no word for.
const (
	unsupportedField = "UnsupportedField" // a field that truce cannot do
	invalidSpec      = "InvalidSpec"      // a field that makes no sense
	pruneHeld        = "PruneHeld"        // a person must approve what would be deleted
	driftDetected    = "DriftDetected"    // the word of Flux's HelmRelease
	noDrift          = "NoDriftDetected"  // the same
	valuesError      = "ValuesError"      // the same, for values that could not be read
	sourceNotReady   = "SourceNotReady"   // the same, for the chart of spec.chart
	drifted          = "Drifted"
	notCompared      = "NotCompared"
	contested        = "Contested" // a condition and its reason: a field goes back and forth
	fieldContested   = "FieldContested"
)

// accessDenied is Flux's reason for what its rules between tenants refuse (fluxcd/pkg/apis/acl).
const accessDenied = "AccessDenied"

// longestMessage is Flux's MaxConditionMessageLength; the API server takes 32768.
const longestMessage = 20000

// conditions are those that an object should have from now on, taken up from those that it had.
type conditions struct {
	had        []metav1.Condition
	now        []metav1.Condition
	at         metav1.Time
	generation int64
}

// set adds a condition. It keeps the time of its last transition unless its status is another one now.
func (c *conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	next := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: truncateMessage(message),
		ObservedGeneration: c.generation, LastTransitionTime: c.at,
	}
	if old := findCondition(c.had, kind); old != nil && old.Status == status && !old.LastTransitionTime.IsZero() {
		next.LastTransitionTime = old.LastTransitionTime
	}
	c.now = append(c.now, next)
}

// keep takes over a condition as it was, if it was.
func (c *conditions) keep(kind string) {
	if old := findCondition(c.had, kind); old != nil {
		c.now = append(c.now, *old)
	}
}

// sorted returns Ready first, as Flux does, and the others by name.
func (c *conditions) sorted() []metav1.Condition {
	slices.SortStableFunc(c.now, func(a, b metav1.Condition) int {
		switch {
		case a.Type == meta.ReadyCondition:
			return -1
		case b.Type == meta.ReadyCondition:
			return 1
		}
		return strings.Compare(a.Type, b.Type)
	})
	return c.now
}

func findCondition(list []metav1.Condition, kind string) *metav1.Condition {
	i := slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// truncateMessage cuts a message at a character's border.
func truncateMessage(message string) string {
	if len(message) <= longestMessage {
		return message
	}
	const ellipsis = "..."
	return strings.ToValidUTF8(message[:longestMessage-len(ellipsis)], "") + ellipsis
}

// refusal returns the reason and the sentence for problems of a spec.
func (r *reading) refusal(otherwise string) (reason, message string) {
	switch {
	case len(r.Problems) == 0:
		return invalidSpec, otherwise
	case r.Lacking == len(r.Problems):
		reason = unsupportedField
	case r.badExpressions == len(r.Problems):
		reason = meta.InvalidCELExpressionReason
	default:
		reason = invalidSpec
	}
	return reason, sentences(r.Problems)
}

func sentences(problems []app.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Field + ": " + p.Reason
	}
	return strings.Join(lines, "; ")
}

// statusMap turns a status into decoded JSON.
func statusMap(status any) map[string]any {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil { // no type of Flux's API is other than JSON
		return map[string]any{}
	}
	return m
}
