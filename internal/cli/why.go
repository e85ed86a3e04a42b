package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/report/explain"
)

const longWhy = `Explain an object or one of its fields: which app it belongs to; Git's value, with file, line and commit; the
live value; who wrote it, when, and how certain that is; what truce does about it and why; what happened to
it recently; and which change in Git ends the difference.

PATH is a field: .spec.replicas, spec.replicas, /spec/replicas, or through lists
spec.template.spec.containers[name=web].image and containers[0].image.
Where the items of a list have no keys, a position such as spec.http[0] is that in
Git's list.

The command reads the cluster itself, with your own permissions, so it works with and without a running
controller, of which it reads only the journal. What cannot be known is listed, with the reason. Values of
Secrets are masked.

Exit codes: 0 explained, 2 usage or no such field, 3 cluster, 4 source or render.`

const exampleWhy = `  truce why deploy/web .spec.replicas -n shop
  truce why deployment web 'spec.template.spec.containers[name=web].image' -n shop
  truce why configmap/settings -n shop --since 72h`

func (p *program) why() *cobra.Command {
	f := p.object()
	cmd := &cobra.Command{
		Use: "why KIND/NAME [PATH]", Short: "Explain an object or a field: Git, live value, writer", Long: longWhy, Example: exampleWhy, Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return f.why(cmd.Context(), args) },
	}
	cmd.Flags().DurationVar(&f.question.Since, "since", 24*time.Hour, "how far back the journal is asked")
	cmd.Flags().StringVar(&f.question.From, "from", "", "`URL` of a controller's status page, or the journal file of one that does not run")
	f.addOf(cmd)
	f.add(cmd, "json", "yaml")
	return cmd
}

func (f *objectFlags) why(ctx context.Context, args []string) error {
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return usageError("%q: one path at a time", rest)
	}
	if len(rest) == 1 {
		f.question.Path = rest[0]
	}
	f.question.Reach = explain.ReachField
	return f.asked(ctx, func(s explain.Subject) error {
		path, err := s.Locate(f.question.Path)
		if err != nil {
			return &exit.Error{Code: exit.Usage, Err: err}
		}
		if f.output != "" {
			return f.structured(newWhyJSON(s, path))
		}
		return printStory(f.program.env.Out, f.program.term, s, path)
	})
}

// printStory prints a story: a title, and each part with its sentences in a column.
func printStory(w io.Writer, term terminal, s explain.Subject, path field.Path) error {
	title := term.in(bold, s.ID.String())
	if len(path) > 0 {
		title += "  " + term.in(bold, field.PathString(path))
	}
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	t := &table{}
	for _, part := range s.Describe(path) {
		name := part.Title
		for _, text := range part.Sentences {
			t.add(cell{name, faint}, cell{text: text})
			name = ""
		}
	}
	return t.print(w, term)
}
