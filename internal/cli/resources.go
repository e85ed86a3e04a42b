package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longResources = `Show custom resources of Flux and Argo CD as their statuses say: sources, Kustomizations, HelmReleases,
Applications, Providers, Alerts and Receivers, of any controller. The columns are those of flux get.

READY is the condition Ready; an Application is ready when it is Synced and Healthy. MESSAGE is the
message of that condition. Of a suspended one it begins with who suspended it, and since when at the
latest, as managedFields say. -o wide adds the source, the path or address, and the age.

What truce itself sees of an app, field by field: truce app get, truce app diff.

-o json and yaml print these keys for each: metadata, kind, ready, reason, message, revision, suspended,
suspendedBy, suspendedSince, source, path, url, settled, conditions. Names are only added to them.

Exit codes: 0 done, 2 usage, 3 the cluster cannot be reached or refuses, or has none of that name.`

const exampleResources = `  # everything of a namespace, and what is not ready in all of them
  truce get all -n flux-system
  truce get all -A --status-selector ready=false

  # one kind, by name, and as it changes
  truce get ks web -n flux-system
  truce get sources git -A -o wide
  truce get kustomizations -A --watch`

type resourcesFlags struct {
	*verb
	watch  bool
	labels string
	status string
	names  []string
	widths []int
	kinds  []resource.Kind
}

func (p *program) resources() *cobra.Command {
	v := p.newVerb(&cobra.Command{Use: "get", Short: "Show sources and apps, and how they stand", Long: longResources, Example: exampleResources})
	r := &resourcesFlags{verb: v}
	v.allNamespaces()
	flags := v.cmd.PersistentFlags()
	flags.BoolVarP(&r.watch, "watch", "w", false, "after the list, print what changes")
	flags.StringVarP(&r.labels, "selector", "l", "", "only those whose labels match, such as team=shop,tier!=test")
	flags.StringVar(&r.labels, "label-selector", "", "flux's word for --selector")
	flags.StringVar(&r.status, "status-selector", "", "only those whose condition is so: ready=false, ready!=true")
	flags.BoolVar(&r.form.bare, "no-header", false, "flux's word for --no-headers")
	for _, name := range []string{"label-selector", "no-header"} {
		flags.Lookup(name).Hidden = true
	}
	flags.Bool("show-source", false, "flux's flag: -o wide shows the source")
	flags.Lookup("show-source").Hidden = true
	v.complete(v.cmd, "status-selector", completeFrom("ready=false", "ready=true", "ready=unknown"))
	v.cmd.AddCommand(r.group("all", "Show all sources and apps, and what is about messages and webhooks", anyKind))
	v.addKinds(r, anyKind)
	for _, cmd := range v.cmd.Commands() {
		if cmd.Name() == "source" {
			cmd.Use, cmd.Aliases = "sources", []string{"source"}
			cmd.AddCommand(r.group("all", "Show all sources", func(k resource.Kind) bool { return k.Source != "" }))
		}
	}
	return v.cmd
}

// group is a command about several kinds.
func (r *resourcesFlags) group(use, short string, fits func(resource.Kind) bool) *cobra.Command {
	kinds := slices.DeleteFunc(resource.AllKinds(), func(k resource.Kind) bool { return !fits(k) })
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions}
	r.runs(cmd, kinds)
	return cmd
}

func (r *resourcesFlags) forKind(k resource.Kind) *cobra.Command {
	cmd := &cobra.Command{Use: k.Plural + " [NAME...]", Short: "Show " + k.Plural}
	if k.Source != "" {
		cmd.Use = k.Source + " [NAME...]"
	}
	r.runs(cmd, []resource.Kind{k})
	return cmd
}

func (r *resourcesFlags) runs(cmd *cobra.Command, kinds []resource.Kind) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.kinds, r.names = kinds, args
		if r.status != "" && !strings.Contains(r.status, "=") {
			return usageError("--status-selector %q: want CONDITION=STATUS, such as ready=false", r.status)
		}
		if cmd.Flags().Changed("show-source") && r.output == "" {
			r.output = "wide"
		}
		return r.connected(cmd.Context(), func(c *Cluster) error { return r.run(cmd.Context(), c) })
	}
	r.outputs(cmd, "json", "yaml", "wide", "name")
}

func (r *resourcesFlags) run(ctx context.Context, c *Cluster) error {
	ns, err := r.namespace()
	if err != nil {
		return err
	}
	by, err := labels.Parse(r.labels)
	if err != nil {
		return usageError("-l %s: %w", r.labels, err)
	}
	q := resource.Query{Kinds: r.kinds, Namespace: ns}
	if len(r.names) == 1 {
		q.Name = r.names[0]
	}
	if r.watch {
		return r.follow(ctx, c, q, by)
	}
	all, err := c.ListResources(ctx, q)
	if err != nil {
		return err
	}
	found := r.matching(all.Items, by)
	if err := r.missing(ctx, c, all, ns); err != nil {
		return err
	}
	if len(found) == 0 && len(all.Refused) > 0 {
		return r.refused(all)
	}
	if len(found) == 0 && r.output != "json" && r.output != "yaml" {
		fmt.Fprintln(r.program.env.Err, r.nothing(ns))
	} else if err := r.print(found); err != nil {
		return err
	}
	return r.refused(all)
}

// matching are those that the names and selectors choose.
func (r *resourcesFlags) matching(all []resource.Resource, by labels.Selector) []resource.Resource {
	var out []resource.Resource
	for _, x := range all {
		if (len(r.names) == 0 || slices.Contains(r.names, x.Key.Name)) && by.Matches(labels.Set(x.Labels)) && (r.status == "" || x.Matches(r.status)) {
			out = append(out, x)
		}
	}
	return out
}

// missing is the error for a name that is not there.
func (r *resourcesFlags) missing(ctx context.Context, c *Cluster, all resource.List, ns string) error {
	for _, name := range r.names {
		if len(all.Refused) > 0 || slices.ContainsFunc(all.Items, func(x resource.Resource) bool { return x.Key.Name == name }) {
			continue
		}
		there, err := c.Objects(ctx, r.kinds[0].Resource(), ns)
		if err != nil {
			return err
		}
		return errNoResource(r.kinds[0], name, ns, there)
	}
	return nil
}

func (r *resourcesFlags) nothing(ns string) string {
	what := "sources, apps, Providers, Alerts and Receivers"
	if len(r.kinds) == 1 {
		what = r.kinds[0].Plural
	}
	if r.status != "" || r.labels != "" {
		what += " that match"
	}
	text := "no " + what + " in " + placeOfNamespace(ns)
	if ns != "" {
		text += " (-A for all namespaces)"
	}
	return text
}

// refused are the kinds that may not be listed: the rest is printed first.
func (r *resourcesFlags) refused(all resource.List) error {
	if len(all.Refused) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.Cluster, Err: errors.Join(all.Refused...)}
}

// follow prints all, then each that changes, until ctx ends.
func (r *resourcesFlags) follow(ctx context.Context, c *Cluster, q resource.Query, by labels.Selector) error {
	last, first := map[string]string{}, true
	var failed error
	err := c.FollowResources(ctx, q, func(all resource.List) bool {
		if first {
			if failed = r.begin(ctx, c, all, q.Namespace); failed != nil {
				return true
			}
		}
		first = false
		var changed []resource.Resource
		for _, x := range r.matching(all.Items, by) {
			now := fmt.Sprint(x.Revision, x.Ready, x.Message, x.Suspended)
			if last[x.Key.String()] != now {
				last[x.Key.String()] = now
				changed = append(changed, x)
			}
		}
		if len(changed) > 0 {
			failed = r.print(changed)
			r.form.bare = true
		}
		return failed != nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(failed, err)
}

// begin warns of the kinds that may not be listed. A name that is not there when all is known is an error, as without --watch.
func (r *resourcesFlags) begin(ctx context.Context, c *Cluster, all resource.List, ns string) error {
	if len(all.Refused) > 0 {
		fmt.Fprintln(r.program.env.Err, "warning: "+redact.MaskText(errors.Join(all.Refused...).Error()))
	}
	return r.missing(ctx, c, all, ns)
}

func (r *resourcesFlags) print(found []resource.Resource) error {
	switch r.output {
	case "json", "yaml":
		return r.printItems(found)
	case "name":
		for _, x := range found {
			if _, err := fmt.Fprintln(r.program.env.Out, resourceName(x.Key)); err != nil {
				return err
			}
		}
		return nil
	}
	t := r.table(found, time.Now())
	r.widths = t.widths()
	return r.printTable(t)
}

func (r *resourcesFlags) printItems(found []resource.Resource) error {
	items := make([]resourceJSON, 0, len(found))
	for _, x := range found {
		items = append(items, newResourceJSON(x))
	}
	switch {
	case r.watch:
		return eachStructured(r.appFlags, items)
	case len(items) == 1 && len(r.names) == 1:
		return r.structured(items[0])
	}
	return r.structured(listJSON{APIVersion: schemaVersion, Kind: "ResourceList", Items: items})
}

// table has the columns of flux get; the kind is in the name where there are several.
func (r *resourcesFlags) table(found []resource.Resource, now time.Time) *table {
	t := &table{least: r.widths, bare: r.form.bare}
	wide := r.output == "wide"
	t.columns(r.row("NAMESPACE", plainCells("NAME", "REVISION", "SUSPENDED", "READY"), plainCells("SOURCE", "PATH", "AGE"), "MESSAGE")...)
	for _, x := range found {
		name := x.Key.Name
		if len(r.kinds) > 1 {
			name = resourceName(x.Key)
		}
		suspended := cell{text: "False"}
		if x.Suspended {
			suspended = cell{"True", yellow}
		}
		narrow := append(plainCells(name, explain.ShortRevision(x.Revision)), suspended, cell{x.Ready, paintReady[x.Ready]})
		from, where := sourceName(x), x.Path
		if x.Kind.Source != "" {
			from, where = "", x.URL
		}
		more := plainCells(textOrNone(from), textOrNone(where), formatAge(x.Created, now))
		most := 120
		if wide {
			most = 1000
		}
		t.add(r.row(x.Key.Namespace, narrow, more, oneLine(suspendedSince(x, now)+x.Message, most))...)
	}
	return t
}

func (r *resourcesFlags) row(namespace string, narrow, wide []cell, message string) []cell {
	var out []cell
	if r.everyNS {
		out = plainCells(namespace)
	}
	out = append(out, narrow...)
	if r.output == "wide" {
		out = append(out, wide...)
	}
	return append(out, cell{text: message})
}

var paintReady = map[string]paint{"True": green, "False": red, "Unknown": cyan}

// sourceName is what an app names as its source: a custom resource, or an address.
func sourceName(x resource.Resource) string {
	if x.Source.Name == "" {
		return x.URL
	}
	return x.Source.Kind + "/" + x.Source.Name
}

// suspendedSince says who has suspended a custom resource, and since when, before its message.
func suspendedSince(x resource.Resource, now time.Time) string {
	if !x.Suspended {
		return ""
	}
	return strings.TrimSuffix("suspended "+suspender(x, now), " ") + "; "
}

// suspender says who set the field that suspends a custom resource, and when at the latest, as far as managedFields record it.
func suspender(x resource.Resource, now time.Time) string {
	if x.SuspendedBy == "" {
		return ""
	}
	text := "by " + x.SuspendedBy
	if !x.SuspendedSince.IsZero() {
		text += ", at the latest " + formatAge(x.SuspendedSince, now) + " ago"
	}
	return text
}
