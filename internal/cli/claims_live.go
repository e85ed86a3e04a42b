package cli

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
)

// claimants prints those that the cluster has.
func (f *claimsFlags) claimants(ctx context.Context, c *claim.Catalogue, cl *Cluster) error {
	ns, err := f.namespace()
	if err != nil {
		return err
	}
	found, err := cl.Claimants(ctx, c, ns)
	if err != nil {
		return err
	}
	out := f.program.env.Out
	switch f.output {
	case "json", "yaml":
		items := make([]claimantJSON, 0, len(found))
		for _, x := range found {
			items = append(items, newClaimantJSON(x))
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "ClaimantList", Items: items})
	case "name":
		for _, x := range found {
			if _, err := fmt.Fprintln(out, x.ID); err != nil {
				return err
			}
		}
		return nil
	case "markdown":
		return usageError("-o markdown is for the catalogue, without --live")
	}
	if len(found) == 0 {
		fmt.Fprintf(f.program.env.Err, "no claimants in %s\n", placeOfNamespace(ns))
		return nil
	}
	return f.printTable(claimantTable(found))
}

func claimantTable(found []claim.Claimant) *table {
	t := &table{}
	t.columns(plainCells("CLAIMANT", "TARGET", "VALUES", "ENTRY", "APP", "STATE")...)
	for _, c := range found {
		state := cell{text: "active"}
		if c.Idle != "" {
			state = cell{"stands still: " + c.Idle, yellow}
		}
		row := plainCells(c.ID.Kind+" "+fullName(c.ID), targetName(c.Target), valuesOf(c), c.Entry, textOrNone(c.App))
		t.add(append(row, state)...)
	}
	return t
}

func targetName(id object.ID) string {
	if id.Name == "" {
		return "every " + id.Kind
	}
	return id.Kind + " " + id.Name
}

// valuesOf prints the bounds of a number; nothing for what is no number.
func valuesOf(c claim.Claimant) string {
	switch {
	case !c.Counts():
		return "-"
	case c.Unbounded():
		return fmt.Sprintf("%d up", c.Min)
	}
	return fmt.Sprintf("%d to %d", c.Min, c.Max)
}

// claimantJSON is one claimant of `claims --live`.
type claimantJSON struct {
	Claimant idJSON `json:"claimant"`
	Target   idJSON `json:"target"` // without a name: every object of the kind in the namespace
	Entry    string `json:"entry"`
	Min      int64  `json:"min,omitempty"`
	Max      int64  `json:"max,omitempty"`
	App      string `json:"app,omitempty"`
	Evidence string `json:"evidence"`
	Idle     string `json:"idle,omitempty"` // why it does nothing at present
}

func newClaimantJSON(c claim.Claimant) claimantJSON {
	out := claimantJSON{
		Claimant: idJSON(c.ID), Target: idJSON(c.Target), Entry: c.Entry, Min: c.Min, App: c.App, Evidence: c.Evidence, Idle: c.Idle,
	}
	if !c.Unbounded() {
		out.Max = c.Max
	}
	return out
}
