package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/notification"
)

const longNotifyPreview = `Show the messages that an Alert, as it is now, would have sent of what happened lately: each matter when it opens,
changes and ends, filtered, and joined as the Provider gets them. What happened is read from the journal of the
controller, as truce history reads it; nothing is sent. A suspended Alert is shown as if it were not.

The journal has drift, corrections, fights, ceded fields, applied revisions, failed runs, prunes, releases and health,
not the objects that were deleted with their app. An app is chosen by the labels that it has now.

-o json and yaml print: alert, provider, type, since, and of each message time, title, severity, reason, text, facts,
joined.

Exit codes: 0 printed, 2 usage, 3 the Alert or its Provider is not there or is refused, or there is no journal.`

const exampleNotifyPreview = `  truce notify preview all -n flux-system --since 24h
  truce notify preview all -n flux-system --from http://127.0.0.1:8080 -o yaml`

type notifyPreviewFlags struct {
	*appFlags
	from  string
	since time.Duration
}

func (p *program) notifyPreview() *cobra.Command {
	f := &notifyPreviewFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "preview ALERT", Short: "Show what an Alert would have sent", Long: longNotifyPreview, Example: exampleNotifyPreview, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return f.run(cmd.Context(), c, args[0]) })
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.since, "since", notification.Since, "how far back")
	flags.StringVar(&f.from, "from", "", "`URL` of a controller's status page, or the journal file of one that does not run")
	f.notifies(cmd, "alert")
	f.outputs(cmd, "json", "yaml")
	return cmd
}

func (f *notifyPreviewFlags) run(ctx context.Context, c *Cluster, name string) error {
	key, err := f.routeKey(name)
	if err != nil {
		return err
	}
	q := journal.Query{Since: time.Now().Add(-f.since)}
	var entries []journal.Entry
	if f.from != "" {
		entries, err = view.ReadJournal(ctx, f.from, q)
	} else {
		entries, err = f.program.readJournal(ctx, c, q)
	}
	if err != nil {
		return err
	}
	past, err := notification.Preview(ctx, c.Live(), key, entries)
	if err != nil {
		return err
	}
	return f.printPast(past, q)
}

// nothing says that no message was due, and of how many entries of the journal.
func (f *notifyPreviewFlags) nothing(judged int) string {
	return fmt.Sprintf("no messages in the last %s; the journal holds %s of that time", explain.FormatSpan(f.since), cmp.Or(pluralize(judged, "entry", "entries"), "nothing"))
}

type previewJSON struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Alert      string        `json:"alert"`
	Provider   string        `json:"provider"`
	Type       string        `json:"type"`
	Since      time.Time     `json:"since"`
	Items      []messageJSON `json:"items"`
}

func (f *notifyPreviewFlags) printPast(p notification.Past, q journal.Query) error {
	if f.output != "" {
		out := previewJSON{
			APIVersion: schemaVersion, Kind: "NotificationPreview", Alert: p.Alert.Key.String(), Provider: p.Alert.Key.Namespace + "/" + p.Alert.Provider,
			Type: p.Type, Since: q.Since.UTC().Truncate(time.Second), Items: []messageJSON{},
		}
		for _, c := range p.Messages {
			out.Items = append(out.Items, newMessageJSON(c))
		}
		return f.structured(out)
	}
	if len(p.Messages) == 0 {
		fmt.Fprintln(f.program.env.Err, f.nothing(p.Judged))
		return nil
	}
	t := &table{}
	t.columns(plainCells("TIME", "SEVERITY", "REASON", "ABOUT", "MESSAGE")...)
	for _, c := range p.Messages {
		head := []string{c.Message.At.Local().Format("2006-01-02 15:04:05"), string(c.Message.Severity), c.Message.Reason, c.Title}
		for _, line := range c.Lines {
			t.add(plainCells(append(head, line)...)...)
			head = []string{"", "", "", ""} // further lines of the same message
		}
	}
	return f.printTable(t)
}
