package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/dialect"
)

// changeFlags are those of `argocd app set` and `argocd app create` that truce has a meaning for (cmd/util/app.go of argo-cd).
type changeFlags struct {
	set *pflag.FlagSet

	repo, path, revision, project      string
	server, cluster, namespace, policy string
	prune, heal, empty, refresh        bool
	limit, factor, keep                int64
	first, longest                     time.Duration
	options, ignore                    []string
	overlay                            overlayFlags
	chart                              chartChangeFlags
	source                             sourceFlags
	files                              filesFlags
}

func (c *changeFlags) add(cmd *cobra.Command, f *appFlags) {
	c.set = cmd.Flags()
	s := c.set
	s.StringVar(&c.repo, "repo", "", "address of the repository")
	s.StringVar(&c.path, "path", "", "directory in the repository")
	s.StringVar(&c.revision, "revision", "", "branch, tag or commit to follow")
	s.StringVar(&c.project, "project", "", "project of an Application")
	s.StringVar(&c.server, "dest-server", "", "address of the cluster that objects go to")
	s.StringVar(&c.cluster, "dest-name", "", "name of the cluster that objects go to")
	s.StringVar(&c.namespace, "dest-namespace", "", "namespace of the objects")
	s.StringVar(&c.policy, "sync-policy", "", "automated (auto, automatic) or manual (none)")
	s.BoolVar(&c.prune, "auto-prune", false, "delete objects that leave Git")
	s.BoolVar(&c.heal, "self-heal", false, "put drift back")
	s.BoolVar(&c.empty, "allow-empty", false, "let a revision without any object prune all")
	s.StringArrayVar(&c.options, "sync-option", nil, "add a sync option such as Prune=false; !Prune=false takes it away (repeatable)")
	s.Int64Var(&c.limit, "sync-retry-limit", 0, "how often a failed sync is tried again; -1 for ever")
	s.DurationVar(&c.first, "sync-retry-backoff-duration", 0, "pause before the first of these")
	s.DurationVar(&c.longest, "sync-retry-backoff-max-duration", 0, "the longest of the pauses")
	s.Int64Var(&c.factor, "sync-retry-backoff-factor", 0, "by which each pause is longer than the one before")
	s.BoolVar(&c.refresh, "sync-retry-refresh", false, "try again with the newest revision")
	s.Int64Var(&c.keep, "revision-history-limit", 0, "how many revisions the history keeps")
	s.StringArrayVar(&c.ignore, "ignore-difference", nil, "leave fields to others, as JSON: '"+differenceExample+"' (repeatable)")
	c.overlay.add(s)
	c.chart.add(s)
	c.source.add(s)
	c.files.add(s)
	f.complete(cmd, "sync-policy", completeFrom("automated", "manual"))
	f.complete(cmd, "sync-option", completeFrom("Prune=false", "Prune=true", "Validate=false", "CreateNamespace=true", "ApplyOutOfSyncOnly=true", "ServerSideApply=true", "RespectIgnoreDifferences=true", "PruneLast=true"))
}

// completeFrom completes with a fixed list.
func completeFrom(all ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// change is what the flags ask for.
func (c *changeFlags) change() (dialect.Change, error) {
	out := dialect.Change{
		Repo: changedFlag(c.set, "repo", c.repo), Path: changedFlag(c.set, "path", c.path), Revision: changedFlag(c.set, "revision", c.revision),
		Project: changedFlag(c.set, "project", c.project), Server: changedFlag(c.set, "dest-server", c.server),
		Cluster: changedFlag(c.set, "dest-name", c.cluster), Namespace: changedFlag(c.set, "dest-namespace", c.namespace),
		Prune: changedFlag(c.set, "auto-prune", c.prune), SelfHeal: changedFlag(c.set, "self-heal", c.heal), Empty: changedFlag(c.set, "allow-empty", c.empty),
		Keep: changedFlag(c.set, "revision-history-limit", c.keep), Options: c.options,
		Retry: dialect.Retry{
			Limit: changedFlag(c.set, "sync-retry-limit", c.limit), Factor: changedFlag(c.set, "sync-retry-backoff-factor", c.factor),
			Duration: changedFlag(c.set, "sync-retry-backoff-duration", c.first), MaxDuration: changedFlag(c.set, "sync-retry-backoff-max-duration", c.longest),
			Refresh: changedFlag(c.set, "sync-retry-refresh", c.refresh),
		},
	}
	out.Files = c.files.change(c.set)
	var err error
	if out.Ignore, err = parseDifferences(c.ignore); err != nil {
		return out, err
	}
	if out.Overlay, err = c.overlay.change(c.set); err != nil {
		return out, err
	}
	if out.Chart, err = c.chart.change(c.set); err != nil {
		return out, err
	}
	if out.Source, err = c.source.choice(c.set); err != nil {
		return out, err
	}
	out.Policy, err = parseSyncPolicy(c.policy)
	return out, err
}

// changedFlag is the value of a flag that was on the command line, nil for another.
func changedFlag[T any](s *pflag.FlagSet, flag string, value T) *T {
	if !s.Changed(flag) {
		return nil
	}
	return &value
}

// isEmptyChange reports whether a change asks for nothing. Which source it is about is no change by itself.
func isEmptyChange(c dialect.Change) bool {
	c.Source = ""
	return reflect.DeepEqual(c, dialect.Change{})
}

// parseSyncPolicy reads --sync-policy, with argocd's aliases.
func parseSyncPolicy(text string) (dialect.SyncPolicy, error) {
	switch text {
	case "":
		return "", nil
	case "automated", "automatic", "auto":
		return dialect.Automated, nil
	case "manual", "none":
		return dialect.Manual, nil
	}
	return "", usageError("--sync-policy %q: want automated or manual", text)
}

// timeoutValue is a duration that may be written as argocd's --timeout is: 120 are seconds.
type timeoutValue time.Duration

// String prints the duration.
func (s *timeoutValue) String() string { return time.Duration(*s).String() }

// Type names the kind of value in a flag's help.
func (s *timeoutValue) Type() string { return "duration" }

// Set reads a duration. Zero is no bound, as in argocd.
func (s *timeoutValue) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = timeoutValue(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a duration such as 2m, or seconds")
	}
	*s = timeoutValue(d)
	return nil
}
