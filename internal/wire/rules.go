package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/ignore"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
)

// checkRules refuses a custom resource that truce could not do, and rules that are new and match nothing. Both would be silent in
// the cluster until somebody wonders.
func (c *client) checkRules(ctx context.Context, e cli.Edit, out *cli.Edited) error {
	_, translate, err := translator(e.App)
	if err != nil {
		return err
	}
	now := translate.App(out.After.App, app.Policy{})
	var before app.App
	if out.Before.App != nil {
		before = translate.App(out.Before.App, app.Policy{})
	}
	var all []error
	for _, p := range now.Problems {
		if !slices.Contains(before.Problems, p) {
			all = append(all, fmt.Errorf("%s: %s", p.Field, p.Reason))
		}
	}
	if len(all) > 0 {
		return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s: %w", e.App, errors.Join(all...))}
	}
	fresh := added(before.Ignore, now.Ignore)
	if len(fresh) == 0 || e.Force {
		return nil
	}
	return c.matching(ctx, e, out, now, fresh)
}

// added are the rules beyond those that were there: a command adds at the end.
func added(before, now ignore.Rules) ignore.Rules {
	names := map[string]bool{}
	for _, r := range before {
		names[r.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(r ignore.Rule) bool { return names[r.Name] })
}

// matching holds rules against what the app describes and what is live of it.
func (c *client) matching(ctx context.Context, e cli.Edit, out *cli.Edited, a app.App, rules ignore.Rules) error {
	set, _, err := c.parts.described(ctx, a)
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("nobody knows whether the rule matches anything: %v", err))
		return nil
	}
	var lives []object.Object
	for _, o := range set.Objects {
		there, err := c.parts.engine.Live.Get(ctx, o.Data.GVK(), o.ID)
		if err != nil && !errors.Is(err, live.ErrNotFound) && !errors.Is(err, live.ErrUnknownKind) {
			return fmt.Errorf("read %s: %w", o.ID, err)
		}
		lives = append(lives, there)
	}
	var all []error
	for _, r := range rules {
		if why := mismatch(r, set.Data(), lives); why != "" {
			all = append(all, fmt.Errorf("%s: %s", r.Name, why))
		}
	}
	if len(all) > 0 {
		return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("%s: %w (--force writes it all the same)", e.App, errors.Join(all...))}
	}
	return nil
}
