package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/lint/autoscaled"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// ofRepositories are flags that mean nothing with --cluster, ofClusters those that mean nothing without it.
var (
	ofRepositories = []string{"ref", "base", "baseline", "write-baseline", "remote-bases", "no-private-sources", "allow-source-hosts", "form", "skipped"}
	ofClusters     = []string{"namespace", "context", "kubeconfig", "as", "as-group", "as-uid", "request-timeout", "claims-file"}
)

// clusterFlags adds --cluster and kubectl's flags.
func (f *auditFlags) clusterFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.cluster, "cluster", false, "look at a cluster instead: the workloads under Git that are autoscaled; of all namespaces without -n")
	flags.StringArrayVar(&f.files, "claims-file", nil, "with --cluster: a file of claims that add to the built-in ones; may be given more than once")
	f.config.AddFlags(flags)
}

// clusterReady understands the command line of --cluster.
func (f *auditFlags) clusterReady(cmd *cobra.Command, args []string) error {
	if !f.cluster {
		for _, name := range ofClusters {
			if cmd.Flags().Changed(name) {
				return usageError("--%s is about a cluster: add --cluster", name)
			}
		}
		if f.output == "wide" {
			return usageError("-o wide is a form of --cluster")
		}
		return nil
	}
	for _, name := range ofRepositories {
		if cmd.Flags().Changed(name) {
			return usageError("--%s is about a repository, not for --cluster", name)
		}
	}
	switch {
	case len(args) > 0:
		return usageError("%q and --cluster exclude each other", args[0])
	case !slices.Contains([]string{"", "table", "wide", "json", "yaml"}, f.output):
		return usageError("-o %s is a form of places in Git: --cluster has table, wide, json and yaml", f.output)
	}
	return nil
}

// live lists the workloads that Git and an autoscaler reach for.
func (f *auditFlags) live(ctx context.Context) error {
	catalogue, err := catalogue(f.files)
	if err != nil {
		return err
	}
	return f.connected(ctx, func(cl *Cluster) error {
		rows, notes, err := autoscaled.InCluster(ctx, cl.Live(), catalogue, *f.config.Namespace)
		if err != nil {
			return err
		}
		for _, note := range notes {
			_, _ = fmt.Fprintln(f.program.env.Err, "note: "+note) // a closed stderr is no failure of the command
		}
		if f.dialect != "" {
			rows = slices.DeleteFunc(rows, func(r autoscaled.Workload) bool { return r.Dialect != discover.Dialect(f.dialect) })
		}
		if err := f.printAutoscaled(rows, time.Now()); err != nil {
			return err
		}
		if slices.ContainsFunc(rows, func(r autoscaled.Workload) bool { return f.fails(r.Severity) }) {
			return &exit.Error{Code: exit.Differs}
		}
		return nil
	})
}

// fails reports whether --fail-on is that grave or less.
func (f *auditFlags) fails(s rules.Severity) bool {
	order := []rules.Severity{rules.Error, rules.Warning, rules.Info}
	least := slices.Index(order, severities[f.failOn])
	return least >= 0 && slices.Index(order, s) <= least
}

func (f *auditFlags) printAutoscaled(rows []autoscaled.Workload, now time.Time) error {
	out := f.program.env.Out
	if f.output == "json" || f.output == "yaml" {
		items := make([]autoscaledJSON, 0, len(rows))
		for _, r := range rows {
			items = append(items, newAutoscaledJSON(r))
		}
		return f.structured(listJSON{APIVersion: schemaVersion, Kind: "AutoscaledWorkloadList", Items: items})
	}
	if len(rows) > 0 {
		if err := f.printTable(autoscaledTable(rows, f.output == "wide", now)); err != nil {
			return err
		}
	}
	return f.autoscaledSummary(out, rows)
}

// holds are what a person reads of Git's hold on the count.
var holds = map[autoscaled.Hold]string{
	autoscaled.Named: "names it", autoscaled.Agreed: "ignores it", autoscaled.Ceded: "ceded it", autoscaled.Free: "leaves it", autoscaled.Unclear: "unclear",
}

var paintHold = map[autoscaled.Hold]paint{autoscaled.Named: red, autoscaled.Unclear: yellow}

func autoscaledTable(rows []autoscaled.Workload, wide bool, now time.Time) *table {
	t := &table{}
	head := plainCells("WORKLOAD", "APP", "AUTOSCALER", "RANGE", "COUNT", "GIT", "LAST WRITTEN BY")
	if wide {
		head = append(head, plainCells("DIALECT", "WHY")...)
	}
	t.columns(head...)
	for _, r := range rows {
		git := cell{holds[r.Hold], paintHold[r.Hold]}
		if r.Hold == autoscaled.Named {
			git.text += fmt.Sprintf(" (%v)", r.Wants)
		}
		row := plainCells(r.Object.Kind+" "+fullName(r.Object), cmp.Or(r.Parent.String(), "-"), r.Claim.Name(), rangeOf(r), shortValue(r.Live))
		row = append(append(row, git), plainCells(describeWriter(r.Writer, now))...)
		if wide {
			row = append(row, plainCells(dialectName(r.Dialect), joinSentences(r.Message, r.Remedy))...)
		}
		t.add(row...)
	}
	return t
}

func rangeOf(r autoscaled.Workload) string { return fmt.Sprintf("%d to %d", r.Claim.Min, r.Claim.Max) }

func dialectName(d discover.Dialect) string {
	if d == discover.Bare {
		return "truce"
	}
	return string(d)
}

func (f *auditFlags) autoscaledSummary(w io.Writer, rows []autoscaled.Workload) error {
	by := map[autoscaled.Hold]int{}
	for _, r := range rows {
		by[r.Hold]++
	}
	text := fmt.Sprintf("%d workloads under Git are autoscaled", len(rows))
	if len(rows) == 1 {
		text = "1 workload under Git is autoscaled"
	}
	if by[autoscaled.Named] > 0 {
		text += fmt.Sprintf("; of %d Git names the count", by[autoscaled.Named])
	}
	if by[autoscaled.Unclear] > 0 {
		text += fmt.Sprintf("; of %d no record shows whether Git does: run truce audit in the repository", by[autoscaled.Unclear])
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// autoscaledJSON is one workload of `audit --cluster`.
type autoscaledJSON struct {
	Workload   idJSON      `json:"workload"`
	App        *keyJSON    `json:"app,omitempty"`     // as its mark names it
	Manager    string      `json:"manager,omitempty"` // the field manager of the tool that applies it
	Dialect    string      `json:"dialect"`           // argocd, flux, truce
	Autoscaler idJSON      `json:"autoscaler"`
	Min        int64       `json:"min"`
	Max        int64       `json:"max"`
	Path       string      `json:"path"` // of the count
	Live       any         `json:"live"`
	Hold       string      `json:"hold"`            // what Git has of the count: named, agreed, ceded, free, unclear
	Owner      string      `json:"owner,omitempty"` // by which field manager Git owns it now
	Git        any         `json:"git,omitempty"`   // Git's count, where a record has it
	Writer     *writerJSON `json:"writer"`          // who wrote the count last
	Severity   string      `json:"severity"`
	Message    string      `json:"message"`
	Remedy     string      `json:"remedy,omitempty"`
}

func newAutoscaledJSON(r autoscaled.Workload) autoscaledJSON {
	out := autoscaledJSON{
		Workload: idJSON(r.Object), Manager: r.Parent.By, Dialect: dialectName(r.Dialect), Autoscaler: idJSON(r.Claim.By), Min: r.Claim.Min, Max: r.Claim.Max,
		Path: field.PathString(r.Claim.Path), Live: r.Live, Hold: string(r.Hold), Owner: r.Owner, Git: r.Wants, Writer: newWriterJSON(r.Writer),
		Severity: string(r.Severity), Message: redact.MaskText(r.Message), Remedy: r.Remedy,
	}
	if r.Parent.Key.Name != "" {
		key := keyJSON(r.Parent.Key)
		out.App = &key
	}
	return out
}
