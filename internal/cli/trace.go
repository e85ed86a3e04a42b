package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longTrace = `Say by which app an object of the cluster is kept, from which source and revision, and how both stand. Of an object that
another one owns, such as a pod, the owner is traced. Which file and commit name each field, and who wrote it: truce why.

-o json and yaml print: object, makers, managedBy, app, source, unknown; app and source have the keys of truce get.

Exit codes: 0 traced, 2 usage, 3 the cluster cannot be reached or refuses, has no such object, or no app keeps it.`

const exampleTrace = `  truce trace deployment web -n shop
  truce trace -n shop pod/web-7d4b9c6f5-x2x8l cm/web`

type traceFlags struct {
	*objectFlags
	kind, apiVersion string
}

func (p *program) trace() *cobra.Command {
	f := &traceFlags{objectFlags: p.object()}
	cmd := &cobra.Command{
		Use: "trace KIND NAME...", Short: "Say which app and source an object comes from", Long: longTrace, Example: exampleTrace, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			objects, err := f.objects(args)
			if err != nil {
				return err
			}
			return f.connected(cmd.Context(), func(c *Cluster) error { return f.run(cmd.Context(), c, objects) })
		},
	}
	f.add(cmd, "json", "yaml")
	cmd.Flags().StringVar(&f.kind, "kind", "", "kind of the objects, where the arguments are names alone")
	cmd.Flags().StringVar(&f.apiVersion, "api-version", "", "API version of that kind, such as apps/v1")
	return cmd
}

// objects reads KIND NAME..., KIND/NAME... and flux's NAME... --kind.
func (f *traceFlags) objects(args []string) ([]explain.Question, error) {
	ns, err := f.namespace()
	if err != nil {
		return nil, err
	}
	kind := f.kind
	if group, _, grouped := strings.Cut(f.apiVersion, "/"); grouped && kind != "" {
		kind += "." + group
	}
	if kind == "" && !strings.Contains(args[0], "/") {
		kind, args = args[0], args[1:]
	}
	var out []explain.Question
	for _, arg := range args {
		of, name, slash := strings.Cut(arg, "/")
		if !slash {
			of, name = kind, arg
		}
		if of == "" || name == "" || slash && kind != "" {
			return nil, usageError("%s: name objects as KIND NAME... or KIND/NAME..., as for kubectl", arg)
		}
		out = append(out, explain.Question{Kind: of, Name: name, Namespace: ns})
	}
	if len(out) == 0 {
		return nil, usageError("%s: name an object of it", kind)
	}
	return out, nil
}

func (f *traceFlags) run(ctx context.Context, c *Cluster, objects []explain.Question) error {
	var items []traceJSON
	var unmanaged error
	for _, q := range objects {
		t, err := c.Trace(ctx, q)
		if err != nil {
			return err
		}
		items = append(items, newTraceJSON(t))
		if t.App == nil {
			unmanaged = &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: no app keeps it", t.ID)}
		}
		if f.output == "" {
			f.print(t)
		}
	}
	if f.output != "" {
		f.form.one = len(objects) == 1
		if err := oneOrList(f.appFlags, "TraceList", items); err != nil {
			return err
		}
	}
	return unmanaged
}

// print prints the sections of flux trace.
func (f *traceFlags) print(t resource.Trace) {
	for _, text := range t.Unknown {
		fmt.Fprintln(f.program.env.Err, "note: "+redact.MaskText(text))
	}
	if t.App == nil {
		return
	}
	head := lineTable{{"Object", t.ID.Kind + "/" + t.ID.Name}, {"Namespace", t.ID.Namespace}, {"Owned by", makersText(t.Makers)}, {"Status", "Managed by " + cmp.Or(t.By, "an app that no controller has run yet")}}
	app := lineTable{{t.App.Key.Kind, t.App.Key.Name}, {"Namespace", t.App.Key.Namespace}, {"Path", t.App.Path}, {"Revision", t.App.Revision}, {"Status", readyText(*t.App)}, {"Message", t.App.Message}}
	parts := []lineTable{head, app}
	if t.Source != nil {
		parts = append(parts, lineTable{
			{t.Source.Key.Kind, t.Source.Key.Name},
			{"Namespace", t.Source.Key.Namespace},
			{"URL", t.Source.URL},
			{"Follows", t.Source.Follows},
			{"Revision", t.Source.Revision},
			{"Status", readyText(*t.Source)},
			{"Message", t.Source.Message},
		})
	} else if t.App.URL != "" {
		parts = append(parts, lineTable{{"Repository", t.App.URL}})
	}
	fmt.Fprintln(f.program.env.Out)
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintln(f.program.env.Out, "---")
		}
		part.print(f.program)
	}
}

// lineTable is lines of a name and a text; one without a text is left out.
type lineTable [][2]string

func (l lineTable) print(p *program) {
	const width = 17
	for _, line := range l {
		if line[1] != "" {
			fmt.Fprintf(p.env.Out, "%-*s%s\n", width, line[0]+":", oneLine(redact.MaskText(line[1]), 1000))
		}
	}
}

func makersText(makers []object.ID) string {
	var out []string
	for _, id := range makers {
		out = append(out, id.Kind+"/"+id.Name)
	}
	return strings.Join(out, ", ")
}

// readyText says how a custom resource stands, as flux trace does, and that it is suspended.
const traceTime = "2006-01-02 15:04:05 -0700 MST"

func readyText(x resource.Resource) string {
	text := "Unknown"
	switch {
	case x.Ready == "True" && !x.Reconciled.IsZero():
		text = "Last reconciled at " + x.Reconciled.UTC().Format(traceTime)
	case x.Ready == "True" && !x.ReadySince.IsZero():
		text = "Ready since " + x.ReadySince.UTC().Format(traceTime)
	case x.Ready == "True":
		text = "Ready"
	case x.Ready == "False":
		text = "Not ready: " + x.Reason
	}
	if x.Suspended {
		text += "; suspended " + suspender(x, time.Now())
	}
	return text
}

// traceJSON is what `truce trace` prints of one object.
type traceJSON struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"` // Trace
	Object     idJSON        `json:"object"`
	Makers     []idJSON      `json:"makers,omitempty"` // that own it
	ManagedBy  string        `json:"managedBy,omitempty"`
	App        *resourceJSON `json:"app,omitempty"` // not there: no app keeps it
	Source     *resourceJSON `json:"source,omitempty"`
	Unknown    []string      `json:"unknown,omitempty"`
}

func newTraceJSON(t resource.Trace) traceJSON {
	out := traceJSON{APIVersion: schemaVersion, Kind: "Trace", Object: idJSON(t.ID), ManagedBy: t.By, Unknown: t.Unknown}
	for _, id := range t.Makers {
		out.Makers = append(out.Makers, idJSON(id))
	}
	if t.App != nil {
		app := newResourceJSON(*t.App)
		out.App = &app
	}
	if t.Source != nil {
		source := newResourceJSON(*t.Source)
		out.Source = &source
	}
	return out
}
