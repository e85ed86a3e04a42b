package ignore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/truce-gitops/truce/internal/model/ownership"
)

// PartError is a part of a rule that cannot be followed.
type PartError struct {
	Field string // of the custom resource: "spec.ignoreDifferences[0].jqPathExpressions[1]"
	Text  string // what it says there
	Err   error
}

// Error names the field, what it says, and the cause.
func (e *PartError) Error() string { return e.Field + ": " + e.Reason() }

// Reason is the message without the field.
func (e *PartError) Reason() string { return strconv.Quote(e.Text) + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *PartError) Unwrap() error { return e.Err }

func (r *Rule) queryError(i int, err error) *PartError {
	return &PartError{Field: fmt.Sprintf("%s.jqPathExpressions[%d]", r.Name, i), Text: r.Queries[i], Err: err}
}

// AllQueries returns every jq expression of the rules, each once, whatever it is about.
func (rs Rules) AllQueries() []string {
	var out []string
	for _, r := range rs {
		out = appendMissing(out, r.Queries)
	}
	return out
}

var (
	errNoName = errors.New("names no manager")
	errSelf   = errors.New("that is truce itself: it owns all that Git names")
)

// Refused returns what can be followed on no object: expressions of which the answer is an error when they are asked without one, and
// managers that are truce's own.
func (rs Rules) Refused(answers map[string]Answer) []*PartError {
	var out []*PartError
	for i := range rs {
		r := &rs[i]
		for j, q := range r.Queries {
			if err := answers[q].Err; err != nil {
				out = append(out, r.queryError(j, err))
			}
		}
		for j, m := range r.Managers {
			if err := nobodyElse(m); err != nil {
				out = append(out, &PartError{Field: fmt.Sprintf("%s.managedFieldsManagers[%d]", r.Name, j), Text: m, Err: err})
			}
		}
	}
	return out
}

func nobodyElse(manager string) error {
	switch manager {
	case "":
		return errNoName
	case ownership.Manager, ownership.Handover:
		return errSelf
	}
	return nil
}

// Unanswered returns the first error in the answers about the object; nil if there is none.
func (rs Rules) Unanswered(s Observed) error {
	for i := range rs {
		if !rs[i].Target.Matches(s.Desired) {
			continue
		}
		for j, q := range rs[i].Queries {
			if err := s.Answers[q].Err; err != nil {
				return rs[i].queryError(j, err)
			}
		}
	}
	return nil
}

func appendMissing(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
