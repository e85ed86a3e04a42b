package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
)

// completeWithin bounds how long a shell waits for names.
const completeWithin = 2 * time.Second

const exampleList = `  # the apps of the context's namespace
  truce app list

  # all apps, with their source and message; go on and print what changes
  truce app list -A -o wide -w`

// orders are what --sort-by is mostly used for.
var orders = []string{".metadata.name", ".metadata.namespace", ".metadata.creationTimestamp", ".sync", ".health", ".revision"}

type listFlags struct {
	*appFlags
	watch  bool
	sortBy string
	widths []int // of what was printed so far
}

func (f *appFlags) list() *cobra.Command {
	l := &listFlags{appFlags: f}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List apps with their sync status and health", Example: exampleList, Args: cobra.NoArgs,
		Long: `List apps and how they stand.

SYNC is Synced, OutOfSync or Unknown: whether the cluster is as Git wants. A field that is ceded
counts as in sync. HEALTH is the worst health among the app's objects. MESSAGE is why an app is not both
Synced and Healthy; with -o wide it is the message of the app's status.

An app that truce only observes shows what its status says, and whose word that is: Synced (Flux's).
HEALTH is that word, too; Flux gives none without health checks. What truce itself sees of such an app:
truce app get, truce app diff, and over time truce history.

Called as argocd, it lists Applications alone; -o json and yaml print an array of them as they are in the cluster, and
-o name NAMESPACE/NAME, as argocd does.

SYNC and MESSAGE are what the controller has written. A note says that they may be out of date where the
controller seems not to run: it neither renews a Lease nor answers at its status page.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return l.run(cmd.Context(), c) })
		},
	}
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "after the list, print apps as they change")
	cmd.Flags().StringVar(&l.sortBy, "sort-by", "", "order of the list: a path in its JSON form, such as .metadata.name or .health")
	f.complete(cmd, "sort-by", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return filterPrefix(orders, begun), cobra.ShellCompDirectiveNoFileComp
	})
	f.outputs(cmd, "json", "yaml", "wide", "name")
	return cmd
}

func (l *listFlags) run(ctx context.Context, c *Cluster) error {
	ns, err := l.namespace()
	if err != nil {
		return err
	}
	if l.watch {
		if l.sortBy != "" {
			fmt.Fprintln(l.program.env.Err, "warning: --watch requested, --sort-by will be ignored")
		}
		return l.follow(ctx, c, ns)
	}
	found, err := l.summaries(ctx, c, ns)
	if err != nil {
		return err
	}
	if len(found) == 0 && l.output != "json" && l.output != "yaml" {
		fmt.Fprintln(l.program.env.Err, l.noApps(ns))
		return nil
	}
	if l.sortBy != "" {
		if found, err = sortByPath(found, l.sortBy, func(s view.Summary) any { return newSummaryJSON(s) }); err != nil {
			return err
		}
	}
	if err := l.print(ctx, c, found); err != nil {
		return err
	}
	if l.output == "" || l.output == "wide" {
		l.noteAbsence(ctx, c, found)
	}
	return nil
}

// noteAbsence says that a list may be out of date, where the controller whose words it shows seems not to run.
func (l *listFlags) noteAbsence(ctx context.Context, c *Cluster, found []view.Summary) {
	i := slices.IndexFunc(found, func(s view.Summary) bool { return !s.Observed })
	if i < 0 {
		return
	}
	if doubt, err := c.ControllerAbsence(ctx, found[i].Key.Namespace); err == nil && doubt != "" {
		fmt.Fprintf(l.program.env.Err, "note: %s: SYNC and MESSAGE are as they were last written\n", doubt)
	}
}

func (l *listFlags) print(ctx context.Context, c *Cluster, found []view.Summary) error {
	if l.printsResources() {
		return l.printApplications(ctx, c, found)
	}
	out := l.program.env.Out
	switch l.output {
	case "json", "yaml":
		items := make([]summaryJSON, 0, len(found))
		for _, s := range found {
			items = append(items, newSummaryJSON(s))
		}
		return l.printItems(items)
	case "name":
		for _, s := range found {
			if _, err := fmt.Fprintln(out, l.nameOf(s.Key)); err != nil {
				return err
			}
		}
		return nil
	}
	t := l.table(found, time.Now())
	l.widths = t.widths()
	return l.printTable(t)
}

// printItems prints a list; in a watch each item by itself.
func (l *listFlags) printItems(items []summaryJSON) error {
	if !l.watch {
		return l.structured(listJSON{APIVersion: schemaVersion, Kind: "AppList", Items: items})
	}
	return eachStructured(l.appFlags, items)
}

func (l *listFlags) table(found []view.Summary, now time.Time) *table {
	t := &table{least: l.widths, bare: l.form.bare}
	t.columns(l.row("NAMESPACE", plainCells("NAME", "SYNC", "HEALTH", "REVISION", "AGE"), plainCells("SOURCE", "PATH"), "MESSAGE")...)
	for _, s := range found {
		sync := s.State.SyncText()
		if s.Observed {
			sync += " (" + statusAuthor(s.By) + ")"
		}
		narrow := append(plainCells(s.Key.Name), cell{sync, paintSync[s.State.Sync]}, cell{string(s.State.Health.Code), paintHealth[s.State.Health.Code]})
		narrow = append(narrow, plainCells(textOrNone(explain.ShortRevision(s.Revision)), formatAge(s.Created, now))...)
		message := cmp.Or(s.Lost, s.State.Why())
		if l.output == "wide" {
			message = s.Message
		}
		t.add(l.row(s.Key.Namespace, narrow, plainCells(s.Source.Kind+"/"+s.Source.Name, s.Path), oneLine(message, 120))...)
	}
	return t
}

// statusAuthor says of a status that truce does not write who has written it.
func statusAuthor(by string) string {
	switch by {
	case "":
		return "no status yet"
	case "truce":
		return "truce's, from before"
	}
	return by + "'s"
}

// row puts the columns together that the flags ask for.
func (l *listFlags) row(namespace string, narrow, wide []cell, message string) []cell {
	var out []cell
	if l.everyNS {
		out = plainCells(namespace)
	}
	out = append(out, narrow...)
	if l.output == "wide" {
		out = append(out, wide...)
	}
	return append(out, cell{text: message})
}

// follow prints all apps, then each that changes, until ctx ends.
func (l *listFlags) follow(ctx context.Context, c *Cluster, ns string) error {
	match, err := l.matches()
	if err != nil {
		return err
	}
	last := map[string]string{}
	var failed error
	err = c.Follow(ctx, app.Key{Namespace: ns}, func(all []view.Summary) bool {
		failed = l.printChanged(ctx, c, matching(all, match), last)
		l.form.bare = true
		return failed != nil
	})
	if ctx.Err() != nil {
		return nil
	}
	if failed != nil {
		return failed
	}
	return err
}

func (l *listFlags) printChanged(ctx context.Context, c *Cluster, all []view.Summary, last map[string]string) error {
	var changed []view.Summary
	for _, s := range all {
		now := fmt.Sprint(s.State, s.Revision, s.Observed, s.By, s.Lost, s.Message)
		if last[s.Key.String()] != now {
			last[s.Key.String()] = now
			changed = append(changed, s)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return l.print(ctx, c, changed)
}

// formatAge prints a span as kubectl does, roughly: 45s, 12m, 7h, 3d.
func formatAge(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	d := now.Sub(since)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func textOrNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
