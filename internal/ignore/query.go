package ignore

import (
	"fmt"
	"slices"
	"strconv"
)

// QueryError is a jq expression that cannot be answered.
type QueryError struct {
	Rule  string
	Index int // of the expression in the rule
	Query string
	Err   error
}

// Error names the rule, the expression and the cause.
func (e *QueryError) Error() string {
	return fmt.Sprintf("%s: jq %s: %v", e.Field(), strconv.Quote(e.Query), e.Err)
}

// Unwrap gives the cause.
func (e *QueryError) Unwrap() error { return e.Err }

// Field names the place of the expression in the custom resource.
func (e *QueryError) Field() string { return fmt.Sprintf("%s.jqPathExpressions[%d]", e.Rule, e.Index) }

// AllQueries returns every jq expression of the rules, each once, whatever it is about.
func (rs Rules) AllQueries() []string {
	var out []string
	for _, r := range rs {
		out = add(out, r.Queries)
	}
	return out
}

// Refused returns an error for each expression of which the answer is one: asked without an object, those that are no jq.
func (rs Rules) Refused(answers map[string]Answer) []*QueryError {
	var out []*QueryError
	for _, r := range rs {
		for i, q := range r.Queries {
			if err := answers[q].Err; err != nil {
				out = append(out, &QueryError{Rule: r.Name, Index: i, Query: q, Err: err})
			}
		}
	}
	return out
}

func add(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
