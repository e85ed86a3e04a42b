package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longTimeline = `Show what happened lately: which fields were corrected, ceded and at which values, or contested; which revisions
were applied, which objects were pruned, what was done with a Helm release, and which app was degraded. It is read
from the journal of the controller, which survives restarts: of the one in the cluster, of another (--from URL), or
from a file (--from FILE). -A reads those of all controllers of the cluster.

--postmortem writes a report in Markdown: which fields oscillated, who changed them, since when, what
stopped it, and what still differs or remains to be done in Git. For the latter it renders and compares, one after the
other, all apps of which something remains: with -A that takes a while in a fleet that is only observed.`

const exampleTimeline = `  # the last hour of one app
  truce history web -n flux-system --since 1h

  # a report for people who were not there
  truce history web -n flux-system --since 6h --postmortem > postmortem.md`

type timelineFlags struct {
	*appFlags
	from       string
	since      time.Duration
	postmortem bool
}

func (p *program) timeline() *cobra.Command {
	f := &timelineFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "history [APP]", Short: "Show recent drift, corrections, prunes and releases", Long: longTimeline, Example: exampleTimeline, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.since, "since", 24*time.Hour, "how far back")
	flags.BoolVar(&f.postmortem, "postmortem", false, "a report in Markdown")
	flags.StringVar(&f.from, "from", "", "`URL` of a controller's status page, or the journal file of one that does not run")
	f.config.AddFlags(flags)
	flags.BoolVarP(&f.everyNS, "all-namespaces", "A", false, "apps of all namespaces")
	f.outputs(cmd, "json", "yaml", "markdown")
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	cmd.ValidArgsFunction = f.completeApps
	return cmd
}

func (f *timelineFlags) run(ctx context.Context, args []string) error {
	if f.postmortem && f.output != "" && f.output != "markdown" {
		return usageError("--postmortem is a report in Markdown, and has no other form: leave out -o")
	}
	asked, err := namedApp(args)
	if err != nil {
		return err
	}
	q := journal.Query{Since: time.Now().Add(-f.since), App: asked}
	if f.from != "" {
		q.App.Namespace = *f.config.Namespace
		entries, err := view.ReadJournal(ctx, f.from, q)
		if err != nil {
			return err
		}
		return f.printTimeline(entries, q, gitPlaces{})
	}
	if q.App.Namespace, err = f.namespace(); err != nil {
		return err
	}
	return f.connected(ctx, func(c *Cluster) error {
		entries, err := f.program.readJournal(ctx, c, q)
		if err != nil {
			return err
		}
		var git gitPlaces
		if f.postmortem {
			if git, err = findGitPlaces(ctx, c, entries); err != nil {
				return err
			}
		}
		return f.printTimeline(entries, q, git)
	})
}

// readJournal asks the cluster's controllers. Which of several do not answer is printed, where others do.
func (p *program) readJournal(ctx context.Context, c *Cluster, q journal.Query) ([]journal.Entry, error) {
	entries, err := c.Journal(ctx, q)
	var unread *view.UnreadError
	if !errors.As(err, &unread) {
		return entries, err
	}
	for _, cause := range unread.Causes {
		fmt.Fprintf(p.env.Err, "note: not all is shown: %s\n", redact.MaskText(cause.Error()))
	}
	return entries, nil
}

// namedApp reads NAME or KIND/NAME; of no argument it is no app.
func namedApp(args []string) (app.Key, error) {
	if len(args) == 0 {
		return app.Key{}, nil
	}
	word, name, qualified := strings.Cut(args[0], "/")
	if !qualified {
		return app.Key{Name: args[0]}, nil
	}
	kind, known := resource.FindKind(word)
	if !known || !kind.App {
		return app.Key{}, usageError("%s: %s is no kind of app: name it as NAME, or as kustomization/NAME, application/NAME or helmrelease/NAME", args[0], word)
	}
	return app.Key{Kind: kind.Kind, Name: name}, nil
}

func (f *timelineFlags) printTimeline(entries []journal.Entry, q journal.Query, git gitPlaces) error {
	if len(entries) == 0 {
		fmt.Fprintln(f.program.env.Err, f.nothing(q.App))
	}
	var err error
	out := f.program.env.Out
	switch {
	case f.postmortem:
		_, err = fmt.Fprint(out, writePostmortem(entries, git, time.Now()))
	case f.output == "markdown":
		_, err = fmt.Fprint(out, markdownTable(entries))
	case f.output == "" && len(entries) == 0:
	case f.output == "":
		err = f.printTable(timelineTable(entries))
	default:
		err = f.structured(newEntryListJSON(entries))
	}
	return err
}

// nothing says what was looked for in vain.
func (f *timelineFlags) nothing(k app.Key) string {
	text := "the journal holds nothing of the last " + explain.FormatSpan(f.since)
	if k.Name != "" {
		text += " about " + k.Name
	}
	if k.Namespace != "" {
		text += " in namespace " + k.Namespace + " (-A for all namespaces)"
	}
	return text
}

var timelineColumns = []string{"TIME", "APP", "WHAT", "OBJECT", "FIELD", "GIT", "LIVE", "BY"}

func timelineTable(entries []journal.Entry) *table {
	t := &table{}
	t.columns(plainCells(timelineColumns...)...)
	for _, e := range entries {
		t.add(plainCells(timelineRow(e)...)...)
	}
	return t
}

func timelineRow(e journal.Entry) []string {
	at, name := e.At.Local().Format("2006-01-02 15:04:05"), appName(e.App)
	switch e.What {
	case journal.Applied:
		return []string{at, name, string(e.What), e.Revision}
	case journal.Failed, journal.Suspended, journal.Lost, journal.Degraded, journal.Recovered:
		return []string{at, name, string(e.What), oneLine(e.Reason, maxReason)}
	case journal.Released:
		return []string{at, name, string(e.What), oneLine(e.Action+": "+e.Reason, maxReason)}
	case journal.Pruned, journal.Recreated:
		return []string{at, name, string(e.What), oneLine(fmt.Sprintf("%s %s: %s", e.Object.Kind, fullName(e.Object), e.Reason), maxReason)}
	default:
	}
	by := e.By()
	if by == "" {
		by = string(ownership.Unknown)
	}
	object := e.Object.Kind + " " + fullName(e.Object)
	if strings.Trim(e.Path, ".") == "" && e.Live == nil {
		return []string{at, name, string(e.What), object, "(the object)", "there", "missing", by}
	}
	return []string{at, name, string(e.What), object, e.Path, report.FormatValue(e.Git), report.FormatValue(e.Live), by}
}

// maxReason is how much of an error a row of the timeline shows.
const maxReason = 100

func appName(k app.Key) string { return k.Namespace + "/" + k.Name }
