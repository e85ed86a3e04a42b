package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/dialect"
)

const longUnset = `Remove settings from an app.

--ignore-difference removes a rule, by its place in the list (from 0) or by the JSON that it was set
with. --sync-option removes an option. --revision lets the app follow its source again: for a
Kustomization it ends what truce app rollback has pinned; for an Application it removes
spec.source.targetRevision, which is HEAD then (truce app resume ends a rollback there).`

const exampleUnset = `  truce app unset web --ignore-difference 0
  truce app unset web --sync-option Prune=false`

type unsetFlags struct {
	*appFlags
	writeFlags
	ignore, options  []string
	images, replicas []string
	parameters       []string
	values           []string
	literal          bool
	set              *pflag.FlagSet
	source           sourceFlags
	whole            map[string]*bool
}

func (f *appFlags) unset() *cobra.Command {
	u := &unsetFlags{appFlags: f, whole: map[string]*bool{}}
	cmd := &cobra.Command{
		Use: "unset NAME...", Short: "Remove settings from an app", Long: longUnset, Example: exampleUnset,
		RunE: func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	cmd.Flags().StringArrayVar(&u.ignore, "ignore-difference", nil, "a rule, by its place or its JSON (repeatable)")
	cmd.Flags().StringArrayVar(&u.options, "sync-option", nil, "a sync option (repeatable)")
	cmd.Flags().StringArrayVar(&u.images, "kustomize-image", nil, "the override of an image, by its name (repeatable)")
	cmd.Flags().StringArrayVar(&u.replicas, "kustomize-replica", nil, "the override of a number of replicas, by its name (repeatable)")
	cmd.Flags().StringArrayVarP(&u.parameters, "parameter", "p", nil, "a parameter of the chart, by its name (repeatable)")
	cmd.Flags().StringArrayVar(&u.values, "values", nil, "a file of the chart's values (repeatable)")
	cmd.Flags().BoolVar(&u.literal, "values-literal", false, "the chart's values that stand in the Application")
	u.set = cmd.Flags()
	u.source.add(u.set)
	for flag, what := range map[string]string{
		"nameprefix": "the prefix of names", "namesuffix": "the suffix of names", "kustomize-namespace": "the namespace of all objects",
		"kustomize-version": "the version of Kustomize", "ignore-missing-components": "that components may be missing",
		"ignore-missing-value-files": "that files of values may be missing", "pass-credentials": "that credentials are sent to other servers",
		"revision": "the revision that is followed, or that a rollback holds", "sync-policy": "automated sync, or its hold",
		"sync-retry": "how failed syncs are tried again", "revision-history-limit": "the length of the history", "dest-namespace": "the namespace of objects",
	} {
		u.whole[flag] = cmd.Flags().Bool(flag, false, what)
	}
	cmd.Flags().BoolVar(&u.dryRun, "dry-run", false, "ask the server what it would say, and write nothing")
	f.selects(cmd)
	f.outputs(cmd, "json", "yaml", "name")
	return cmd
}

func (u *unsetFlags) run(ctx context.Context, args []string) error {
	var c dialect.Change
	for _, text := range u.ignore {
		if i, err := strconv.Atoi(text); err == nil {
			c.UnignoreAt = append(c.UnignoreAt, i)
			continue
		}
		d, err := parseDifferences([]string{text})
		if err != nil {
			return err
		}
		c.Unignore = append(c.Unignore, d...)
	}
	for _, o := range u.options {
		c.Options = append(c.Options, "!"+o)
	}
	for _, flag := range slices.Sorted(maps.Keys(u.whole)) {
		if *u.whole[flag] {
			c.Unset = append(c.Unset, flag)
		}
	}
	c.Overlay.DropImages, c.Overlay.DropReplicas = u.images, u.replicas
	c.Chart.DropParameters, c.Chart.DropValueFiles = u.parameters, u.values
	if u.literal {
		c.Chart.Values = new(string)
	}
	if isEmptyChange(c) {
		return u.program.nothingToDo("Please set at least one option to unset")
	}
	var err error
	if c.Source, err = u.source.choice(u.set); err != nil {
		return err
	}
	return u.alter(ctx, args, c, u.writeFlags, "unset")
}
