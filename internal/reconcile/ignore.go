package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Queries answers jq expressions. Select may be called concurrently and may block until ctx ends; the objects stay the caller's,
// and either may be nil: without both it says which of the expressions are no jq. An expression that has no answer is the Err of its
// Answer; the error is for what concerns all of them.
type Queries interface {
	Select(ctx context.Context, queries []string, git, live object.Object) (map[string]ignore.Answer, error)
}

var errNoQueries = errors.New("jq expressions are not answered here")

// AnswerQueries returns what the queries of the rules select on one object. Queries may be nil where the rules have none.
func AnswerQueries(ctx context.Context, q Queries, rules ignore.Rules, s ignore.Observed) (ignore.Observed, error) {
	queries := rules.Queries(s.Desired)
	if len(queries) == 0 {
		return s, nil
	}
	if q == nil {
		return s, errNoQueries
	}
	var err error
	if s.Answers, err = q.Select(ctx, queries, s.Desired, s.Live); err != nil {
		return s, fmt.Errorf("jq: %w", err)
	}
	return s, rules.Unanswered(s)
}

// covered gathers what the rules cover of the object. Where a rule cannot be understood nothing may be written: a failed read is
// never "no rules".
func (w *objectReconcile) covered(ctx context.Context) ([]ignore.Covered, error) {
	rules, err := w.app.Ignore.On(w.snap.desired)
	if err != nil {
		return nil, err
	}
	s, err := AnswerQueries(ctx, w.engine.Queries, rules, ignore.Observed{Desired: w.snap.desired, Live: w.live, Owners: w.owners})
	if err != nil {
		return nil, err
	}
	if len(rules) > 0 {
		w.managed.setTally(rules.Tally(s))
	}
	return rules.Covers(s), nil
}

func (r *managedObject) setTally(t ignore.Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ignored = t
}

// checkRules refuses rules with parts that can be followed on no object.
func (r *appRun) checkRules(ctx context.Context) []app.Problem {
	answers, err := map[string]ignore.Answer(nil), error(nil)
	switch queries := r.app.Ignore.AllQueries(); {
	case len(queries) == 0:
	case r.engine.Queries == nil:
		err = errNoQueries
	default:
		answers, err = r.engine.Queries.Select(ctx, queries, nil, nil)
	}
	if err != nil {
		return []app.Problem{{Field: "jq", Reason: err.Error()}}
	}
	var out []app.Problem
	for _, e := range r.app.Ignore.Refused(answers) {
		out = append(out, app.Problem{Field: e.Field, Reason: e.Reason()})
	}
	return out
}

// onRulesChanged looks again at all objects of an app of which the rules have changed, those of their health and their opt-outs too, or what is done
// about additions: what was found out about them was about other rules.
func (s *appState) onRulesChanged(e *Engine, a app.App) {
	sameHealth := slices.EqualFunc(s.app.HealthExprs, a.HealthExprs, health.Custom.Equal)
	sameRules := reflect.DeepEqual(s.app.Ignore, a.Ignore) && reflect.DeepEqual(s.app.OptOuts, a.OptOuts)
	if s.app.Key != a.Key || sameHealth && sameRules && s.app.Policy.Additions == a.Policy.Additions {
		return
	}
	for id := range s.wanted {
		if r := e.lookup(id); r != nil {
			r.setTally(ignore.Tally{})
			r.force()
		}
	}
}

// ruleNotes says what came of the rules on the app's objects.
func (e *Engine) ruleNotes(rules ignore.Rules, ids []object.ID) []string {
	var all []ignore.Tally
	for _, id := range ids {
		if rec := e.lookup(id); rec != nil {
			rec.mu.Lock()
			all = append(all, rec.ignored)
			rec.mu.Unlock()
		}
	}
	return rules.Notes(all)
}
