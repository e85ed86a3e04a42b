package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longEvents = `Show the Events about custom resources of Flux and Argo CD that the API server still has, the oldest first; it keeps them an hour
unless it is set up otherwise. --for selects those about one kind or one custom resource; those about an app are shown with those about
its source. What truce did to which field, for longer: truce history.

-o json and yaml print for each: lastSeen, firstSeen, count, type, reason, object, message, by.

Exit codes: 0 printed, 2 usage, 3 the cluster cannot be reached or refuses.`

const exampleEvents = `  truce events -n flux-system
  truce events --for Kustomization/web -n flux-system
  truce events -A --types Warning --watch`

type eventsFlags struct {
	*appFlags
	about  string
	types  []string
	watch  bool
	widths []int
}

func (p *program) events() *cobra.Command {
	e := &eventsFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "events", Short: "Show Events about sources and apps", Long: longEvents, Example: exampleEvents, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, kind := range e.types {
				if err := checkOneOf("--types", strings.ToLower(kind), []string{"normal", "warning"}); err != nil {
					return err
				}
			}
			return e.connected(cmd.Context(), func(c *Cluster) error { return e.run(cmd.Context(), c) })
		},
	}
	e.config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&e.everyNS, "all-namespaces", "A", false, "of all namespaces")
	cmd.Flags().StringVar(&e.about, "for", "", "only those about `KIND` or KIND/NAME")
	cmd.Flags().StringSliceVar(&e.types, "types", nil, "only those of these types: Normal, Warning")
	cmd.Flags().BoolVarP(&e.watch, "watch", "w", false, "after the list, print new ones")
	e.complete(cmd, "context", e.completeContexts)
	e.complete(cmd, "namespace", e.completeNamespaces)
	e.complete(cmd, "types", completeFrom("Normal", "Warning"))
	e.complete(cmd, "for", e.completeAbout)
	e.outputs(cmd, "json", "yaml")
	return cmd
}

// completeAbout completes the kind, and then its names.
func (e *eventsFlags) completeAbout(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	word, _, slash := strings.Cut(begun, "/")
	if k, ok := resource.FindKind(word); ok && slash {
		names, directive := e.completeNames(k)(cmd, nil, strings.TrimPrefix(begun, word+"/"))
		return prefixed(word+"/", names), directive
	}
	var out []string
	for _, k := range resource.AllKinds() {
		out = append(out, k.Kind)
	}
	return filterPrefix(out, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (e *eventsFlags) run(ctx context.Context, c *Cluster) error {
	q, err := e.query(ctx, c)
	if err != nil {
		return err
	}
	all, err := c.ListEvents(ctx, q)
	if err != nil {
		return err
	}
	if err := e.print(all, q.Namespace); err != nil || !e.watch {
		return err
	}
	return e.follow(ctx, c, q, all)
}

// follow prints each Event that is new or seen again since those that are known, until ctx ends.
func (e *eventsFlags) follow(ctx context.Context, c *Cluster, q resource.EventQuery, known []resource.Event) error {
	shown := map[string]resource.Event{}
	for _, ev := range known {
		shown[ev.ID] = ev
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := c.FollowEvents(ctx, q, func(ev resource.Event) {
		if last := shown[ev.ID]; last.At.Equal(ev.At) && last.Count == ev.Count {
			return
		}
		shown[ev.ID] = ev
		e.form.bare = true
		if err := e.print([]resource.Event{ev}, q.Namespace); err != nil {
			cancel(err)
		}
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// query is what the flags ask for. The source of an app is meant with it.
func (e *eventsFlags) query(ctx context.Context, c *Cluster) (resource.EventQuery, error) {
	ns, err := e.namespace()
	q := resource.EventQuery{Namespace: ns, Types: e.types}
	if err != nil || e.about == "" {
		return q, err
	}
	word, name, _ := strings.Cut(e.about, "/")
	k, ok := resource.FindKind(word)
	if !ok {
		return q, usageError("--for %s: want a kind of Flux or Argo CD, such as Kustomization/web", e.about)
	}
	q.About = []app.Key{{Kind: k.Kind, Namespace: ns, Name: name}}
	if name == "" || ns == "" || !k.App {
		return q, nil
	}
	source, err := c.SourceKey(ctx, q.About[0])
	if err != nil || source.Name == "" {
		return q, err
	}
	if source.Namespace != ns {
		q.Namespace = "" // Events are in the namespace of what they are about
	}
	q.About = append(q.About, source)
	return q, nil
}

func (e *eventsFlags) print(found []resource.Event, ns string) error {
	if e.output != "" {
		items := make([]eventJSON, 0, len(found))
		for _, ev := range found {
			items = append(items, newEventJSON(ev))
		}
		return e.structured(listJSON{APIVersion: schemaVersion, Kind: "EventList", Items: items})
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(e.program.env.Err, "no Events about sources and apps in "+placeOfNamespace(ns)+", or none that match")
		return err
	}
	t := &table{least: e.widths, bare: e.form.bare}
	t.columns(e.row("NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")...)
	now := time.Now()
	for _, ev := range found {
		row := e.row(ev.About.Namespace, lastSeen(ev, now), ev.Type, ev.Reason, ev.About.Kind+"/"+ev.About.Name, oneLine(ev.Message, 1000))
		if ev.Type == "Warning" {
			row[len(row)-4].paint = yellow
		}
		t.add(row...)
	}
	e.widths = t.widths()
	return e.printTable(t)
}

func (e *eventsFlags) row(namespace string, rest ...string) []cell {
	if e.everyNS {
		rest = append([]string{namespace}, rest...)
	}
	return plainCells(rest...)
}

// lastSeen prints the time of an Event as kubectl does: 2m (x3 over 5m).
func lastSeen(ev resource.Event, now time.Time) string {
	text := formatAge(ev.At, now)
	if ev.Count > 1 && !ev.First.IsZero() {
		text += fmt.Sprintf(" (x%d over %s)", ev.Count, formatAge(ev.First, now))
	}
	return text
}

// eventJSON is one Event of `truce events`.
type eventJSON struct {
	LastSeen  time.Time `json:"lastSeen"`
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	Count     int64     `json:"count,omitempty"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Object    keyJSON   `json:"object"`
	Message   string    `json:"message"`
	By        string    `json:"by,omitempty"`
}

func newEventJSON(ev resource.Event) eventJSON {
	return eventJSON{LastSeen: ev.At, FirstSeen: ev.First, Count: ev.Count, Type: ev.Type, Reason: ev.Reason, Object: keyJSON(ev.About), Message: ev.Message, By: ev.By}
}
