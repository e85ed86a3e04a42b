package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// checkRules refuses a custom resource that truce could not do, and rules that are new and match nothing. Both would be silent in
// the cluster unnoticed.
func (c *Cluster) checkRules(ctx context.Context, e Edit, out *EditResult) error {
	_, translate, err := registry.AppsFor(e.App)
	if err != nil {
		return err
	}
	now := translate.App(out.After.App, policy.Policy{})
	var before app.App
	if out.Before.App != nil {
		before = translate.App(out.Before.App, policy.Policy{})
	}
	var all []error
	for _, p := range now.Problems {
		if !slices.Contains(before.Problems, p) {
			all = append(all, fmt.Errorf("%s: %s", p.Field, p.Reason))
		}
	}
	fresh := addedRules(before.Ignore, now.Ignore)
	if len(all) == 0 && len(fresh) > 0 && !e.Force {
		if all, err = c.idle(ctx, now, fresh, out); err != nil {
			return err
		}
		if len(all) > 0 {
			all = append(all, errors.New("--force writes it all the same"))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", e.App, errors.Join(all...))}
}

// addedRules are the rules beyond those that were there: a command adds at the end.
func addedRules(before, now ignore.Rules) ignore.Rules {
	names := map[string]bool{}
	for _, r := range before {
		names[r.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(r ignore.Rule) bool { return names[r.Name] })
}

// idle holds rules against what the app describes and what of it is live, and says why one of them does nothing. What is worth saying
// of a rule that does something becomes a note.
func (c *Cluster) idle(ctx context.Context, a app.App, rules ignore.Rules, out *EditResult) ([]error, error) {
	set, _, err := c.described(ctx, a, out.After.App)
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("whether the rule matches anything is not known: %v", err))
		return nil, nil
	}
	var sights []ignore.Observed
	for _, o := range set.Objects {
		s, err := c.sight(ctx, o.Data)
		if err != nil {
			return nil, err
		}
		sights = append(sights, s)
	}
	var why []error
	for i := range rules {
		met, said, err := c.tried(ctx, rules[i:i+1], sights)
		switch {
		case err != nil:
			why = append(why, err)
		case met:
			out.Notes = append(out.Notes, said...)
		default:
			for _, text := range said {
				why = append(why, errors.New(text))
			}
		}
	}
	return why, nil
}

// sight is one object with what of it is live.
func (c *Cluster) sight(ctx context.Context, wanted object.Object) (ignore.Observed, error) {
	s := ignore.Observed{Desired: wanted}
	there, err := c.engine.Live.Get(ctx, wanted.GVK(), wanted.ID())
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return s, nil
	}
	if err == nil {
		s.Live = there
		s.Owners, err = ownership.Entries(there)
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", displayName(wanted), err)
	}
	return s, nil
}

// tried says whether a rule covers anything, and what there is to say of it.
func (c *Cluster) tried(ctx context.Context, rule ignore.Rules, sights []ignore.Observed) (met bool, said []string, err error) {
	var all []object.Object
	var tallies []ignore.Tally
	for _, s := range sights {
		all = append(all, s.Desired)
		if s, err = reconcile.AnswerQueries(ctx, c.engine.Queries, rule, s); err != nil {
			return false, nil, err
		}
		met = met || len(rule.Covers(s)) > 0
		tallies = append(tallies, rule.Tally(s))
	}
	return met, append(rule.Idle(all), rule.Notes(tallies)...), nil
}

// displayName is an object as people call it.
func displayName(o object.Object) string {
	if o.Namespace() == "" {
		return o.GVK().Kind + " " + o.Name()
	}
	return o.GVK().Kind + " " + o.Namespace() + "/" + o.Name()
}
