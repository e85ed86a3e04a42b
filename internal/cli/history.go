package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report/explain"
)

const longHistory = `Show the revisions that an app was brought to, the oldest first: those of status.history, of a HelmRelease
its releases. truce app rollback takes the ID of a Kustomization's or an Application's.`

func (f *appFlags) history() *cobra.Command {
	cmd := &cobra.Command{
		Use: "history NAME", Short: "Show the revisions that were applied", Long: longHistory, Args: cobra.ExactArgs(1),
		Example: "  truce app history web\n  truce app history web -o id",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error {
				keys, err := f.targets(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				state, err := c.AppState(cmd.Context(), keys[0])
				if err != nil {
					return err
				}
				return f.printHistory(keys[0], state.History)
			})
		},
	}
	cmd.ValidArgsFunction = f.completeApps
	f.outputs(cmd, "wide", "id", "json", "yaml")
	return cmd
}

type pastJSON struct {
	ID       int64     `json:"id"`
	Revision string    `json:"revision"`
	Time     time.Time `json:"time,omitzero"`
	By       string    `json:"by,omitempty"`
	Source   string    `json:"source,omitempty"`
}

func (f *appFlags) printHistory(key app.Key, past []dialect.HistoryEntry) error {
	out := f.program.env.Out
	switch f.output {
	case "json", "yaml":
		items := make([]pastJSON, 0, len(past))
		for _, p := range past {
			items = append(items, pastJSON{ID: p.ID, Revision: p.Revision, Time: p.At, By: p.By, Source: p.Source})
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "HistoryList", Items: items})
	case "id":
		for _, p := range past {
			if _, err := fmt.Fprintln(out, p.ID); err != nil {
				return err
			}
		}
		return nil
	}
	if len(past) == 0 {
		fmt.Fprintf(f.program.env.Err, "%s: no revision was applied yet\n", resourceName(key))
		return nil
	}
	return f.printTable(historyTable(past, f.output == "wide"))
}

func historyTable(past []dialect.HistoryEntry, wide bool) *table {
	t := &table{}
	head := plainCells("ID", "DATE", "REVISION", "BY")
	if wide {
		head = append(head, plainCells("SOURCE")...)
	}
	t.columns(head...)
	for _, p := range past {
		at := ""
		if !p.At.IsZero() {
			at = p.At.UTC().Format("2006-01-02 15:04:05 -0700 MST") // argocd's form
		}
		revision := explain.ShortRevision(p.Revision)
		if wide {
			revision = p.Revision
		}
		by := p.By
		if by == "" {
			by = "truce"
		}
		row := plainCells(strconv.FormatInt(p.ID, 10), at, revision, by)
		if wide {
			row = append(row, plainCells(p.Source)...)
		}
		t.add(row...)
	}
	return t
}

// findRevision finds the revision to go back to: the one with the ID, or the one before the newest. The newest is where the app is.
func findRevision(ctx context.Context, c *Cluster, k app.Key, args []string) (dialect.HistoryEntry, error) {
	state, err := c.AppState(ctx, k)
	if err != nil {
		return dialect.HistoryEntry{}, err
	}
	h := state.History
	if len(args) == 0 {
		if len(h) < 2 {
			return dialect.HistoryEntry{}, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s has no revision to go back to: its history has %d", k, len(h))}
		}
		return h[len(h)-2], nil
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return dialect.HistoryEntry{}, usageError("%q is no ID of a revision: see truce app history %s", args[0], k.Name)
	}
	for _, p := range h {
		if p.ID == id {
			return p, nil
		}
	}
	return dialect.HistoryEntry{}, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: the history has no ID %d: see truce app history %s", k, id, k.Name)}
}
