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

	wanted  dialect.Change
	policy  string
	ignore  []string
	overlay overlayFlags
	chart   chartChangeFlags
	source  sourceFlags
}

func (c *changeFlags) add(cmd *cobra.Command, f *appFlags) {
	c.set = cmd.Flags()
	s := c.set
	optionalFlag(s, &c.wanted.Repo, "repo", "address of the repository")
	optionalFlag(s, &c.wanted.Path, "path", "directory in the repository")
	optionalFlag(s, &c.wanted.Revision, "revision", "branch, tag or commit to follow")
	optionalFlag(s, &c.wanted.Project, "project", "project of an Application")
	optionalFlag(s, &c.wanted.Server, "dest-server", "address of the cluster that objects go to")
	optionalFlag(s, &c.wanted.Cluster, "dest-name", "name of the cluster that objects go to")
	optionalFlag(s, &c.wanted.Namespace, "dest-namespace", "namespace of the objects")
	s.StringVar(&c.policy, "sync-policy", "", "automated (auto, automatic) or manual (none)")
	optionalFlag(s, &c.wanted.Prune, "auto-prune", "delete objects that leave Git")
	optionalFlag(s, &c.wanted.SelfHeal, "self-heal", "put drift back")
	optionalFlag(s, &c.wanted.Empty, "allow-empty", "let a revision without any object prune all")
	s.StringArrayVar(&c.wanted.Options, "sync-option", nil, "add a sync option such as Prune=false; !Prune=false takes it away (repeatable)")
	optionalFlag(s, &c.wanted.Retry.Limit, "sync-retry-limit", "how often a failed sync is tried again; -1 for ever")
	optionalFlag(s, &c.wanted.Retry.Duration, "sync-retry-backoff-duration", "pause before the first of these")
	optionalFlag(s, &c.wanted.Retry.MaxDuration, "sync-retry-backoff-max-duration", "the longest of the pauses")
	optionalFlag(s, &c.wanted.Retry.Factor, "sync-retry-backoff-factor", "by which each pause is longer than the one before")
	optionalFlag(s, &c.wanted.Retry.Refresh, "sync-retry-refresh", "try again with the newest revision")
	optionalFlag(s, &c.wanted.Keep, "revision-history-limit", "how many revisions the history keeps")
	s.StringArrayVar(&c.ignore, "ignore-difference", nil, "leave fields to others, as JSON: '"+differenceExample+"' (repeatable)")
	c.overlay.add(s)
	c.chart.add(s)
	c.source.add(s)
	optionalFlag(s, &c.wanted.Files.Recurse, "directory-recurse", "read the directories below the directory, too")
	optionalFlag(s, &c.wanted.Files.Include, "directory-include", "a glob of the only files that are read")
	optionalFlag(s, &c.wanted.Files.Exclude, "directory-exclude", "a glob of files that are left out")
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
	out := c.wanted
	var err error
	if out.Ignore, err = parseDifferences(c.ignore); err != nil {
		return out, err
	}
	if out.Overlay, err = c.overlay.change(); err != nil {
		return out, err
	}
	if out.Chart, err = c.chart.change(); err != nil {
		return out, err
	}
	if out.Source, err = c.source.choice(c.set); err != nil {
		return out, err
	}
	out.Policy, err = parseSyncPolicy(c.policy)
	return out, err
}

// optionalFlag declares a flag whose value is nil until it is on the command line.
func optionalFlag[T string | bool | int64 | time.Duration](s *pflag.FlagSet, to **T, name, usage string) {
	value := &optionalValue[T]{to: to}
	switch p := any(&value.value).(type) {
	case *string:
		s.StringVar(p, name, "", usage)
	case *bool:
		s.BoolVar(p, name, false, usage)
	case *int64:
		s.Int64Var(p, name, 0, usage)
	case *time.Duration:
		s.DurationVar(p, name, 0, usage)
	}
	f := s.Lookup(name)
	value.Value = f.Value
	f.DefValue, f.Value = "", value
}

// optionalValue is the value of a flag that is not there before it was set.
type optionalValue[T any] struct {
	pflag.Value
	value T
	to    **T
}

// Set implements pflag.Value.
func (o *optionalValue[T]) Set(text string) error {
	*o.to = &o.value
	return o.Value.Set(text)
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
