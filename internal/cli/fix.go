package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
)

const longFix = `Edit Git's files to fix what truce audit finds: replicas that an autoscaler owns leave the base and every
overlay, patch, component and replicas: entry, and the values of a chart where its template leaves them out without; rules that ignore a field get what they lack; placeholders and nulls go.

PATH is a directory, by default this one; APP is an app of the repository in which this directory is: NAME,
NAMESPACE/NAME or "KIND NAMESPACE/NAME". An edit changes as few bytes as there can be: comments, blank lines, quotes and
order stay. It is made only if every app of the repository that reads the file, rendered before and after, shows the
intended change and nothing else; what is not edited is a proposal that says why. No cluster is asked, and nothing is
pushed.

Where a workload runs already, its count must be handed over before the edit gets to the cluster, or it falls to 1: of a
field whose only owner stops to name it, the default is left. Truce does that by itself; for Flux, Argo CD and kubectl the
command is printed, and is part of the commit's message.

What comes from a remote base or from a chart of a repository (--remote-bases) is never edited: what a base sets is unset by a patch here where that
can be proven, a value of a chart is taken away where it is written here, and the lasting fix is upstream.

What is only worth knowing (severity info) is fixed where --rule names it.

-o json has the changes with their lines, rules and patches; the fixes (cures), with what they end, in the words of audit -o json, and
every app that was rendered before and after as their proof; the proposals, with why no edit was made; and the commit.

Exit codes: 0 nothing to do, or all is done; 1 something is left: a proposal, or with --dry-run an edit; 2 usage; 4 part of
it does not render, which is neither judged nor fixed.`

const exampleFix = `  truce fix --dry-run
  truce fix apps/web
  truce fix flux-system/web --rule replicas-autoscaled --branch let-the-autoscaler --commit
  truce fix --dry-run | git apply
  truce fix --dry-run -o json | jq '.proposals[].why'`

type fixFlags struct {
	appFlags
	order          fix.Request
	servers        serverFlags
	branch         string
	dryRun, commit bool
}

func (p *program) fix() *cobra.Command {
	f := &fixFlags{appFlags: appFlags{program: p}}
	cmd := &cobra.Command{
		Use: "fix [PATH | APP]", Short: "Edit the repository to fix audit findings", Long: longFix, Example: exampleFix,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.ready(args); err != nil {
				return err
			}
			return lint.FixRepository(cmd.Context(), f.order, func(m *lint.Edits) error {
				f.order.Progress.Rendered(0, 0)
				return f.carry(cmd.Context(), m)
			})
		},
	}
	cmd.Flags().StringArrayVar(&f.order.Rules, "rule", nil, "fix only what this rule finds; may be given several times")
	remoteBasesAndCharts(cmd, &f.order.RemoteBases)
	f.servers.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the patch and write nothing")
	cmd.Flags().BoolVar(&f.commit, "commit", false, "commit the edits, with the reason as the message")
	cmd.Flags().StringVar(&f.branch, "branch", "", "make this branch first; implies --commit")
	f.outputs(cmd, "json", "yaml")
	return cmd
}

func (f *fixFlags) ready(args []string) error {
	switch {
	case len(args) > 1:
		return usageError("%d arguments: name one directory or app", len(args))
	case len(args) == 1 && args[0] == "":
		return usageError("PATH is empty")
	case f.dryRun && (f.commit || f.branch != ""):
		return usageError("--dry-run writes nothing: leave out --commit and --branch")
	}
	for _, id := range f.order.Rules {
		if !slices.ContainsFunc(rules.AllRules(), func(r rules.Rule) bool { return r.ID == id }) {
			return usageError("--rule %q is none of the rules that audit has", id)
		}
	}
	f.order.Path = "."
	if len(args) == 1 {
		f.order.Path, f.order.App = args[0], args[0]
	}
	f.commit = f.commit || f.branch != ""
	f.order.Progress = f.program
	var err error
	f.order.Servers, err = f.servers.policy()
	return err
}

// carry shows what is to be done, and does it.
func (f *fixFlags) carry(ctx context.Context, m *lint.Edits) error {
	if f.commit && !m.InWorkingTree() {
		return usageError("--commit: this directory is in no working tree of Git's")
	}
	if f.output != "" {
		return f.carryQuietly(ctx, m)
	}
	out := fixPrinter{f.program.term, m.Plan}
	if _, err := fmt.Fprint(f.program.env.Out, out.patch()); err != nil {
		return err
	}
	hash, err := f.write(ctx, m)
	if err != nil {
		return err
	}
	done := "edited"
	switch {
	case f.dryRun:
		done = "would be edited"
	case hash != "":
		done += " and committed as " + hash
	}
	if _, err := fmt.Fprint(f.program.env.Out, out.story(done)); err != nil {
		return err
	}
	return f.verdict(m)
}

// carryQuietly does it, and says all of it at the end as a form.
func (f *fixFlags) carryQuietly(ctx context.Context, m *lint.Edits) error {
	hash, err := f.write(ctx, m)
	if err != nil {
		return err
	}
	if err := f.structured(f.sheet(m, hash)); err != nil {
		return err
	}
	return f.verdict(m)
}

// write does what is to be done, and returns the commit that it has made; empty for none.
func (f *fixFlags) write(ctx context.Context, m *lint.Edits) (hash string, err error) {
	if f.dryRun || len(m.Plan.Changes) == 0 {
		return "", nil
	}
	if f.commit {
		if err := m.Prepare(ctx, f.branch); err != nil {
			return "", fmt.Errorf("nothing was written: %w", err)
		}
	}
	if err := m.Write(); err != nil {
		return "", err
	}
	if f.commit {
		if hash, err = m.Commit(ctx); err != nil {
			return "", fmt.Errorf("the files are written, and not committed: %w", err)
		}
	}
	return hash, nil
}

func (f *fixFlags) verdict(m *lint.Edits) error {
	for _, k := range m.Survey.Skipped {
		if k.Broken {
			return &exit.Error{Code: exit.Render, Err: fmt.Errorf("%s: %s: %s; what it holds was neither judged nor fixed", k.File, k.What, k.Why)}
		}
	}
	if len(m.Plan.Proposals) > 0 || f.dryRun && len(m.Plan.Changes) > 0 {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

// fixPrinter is a plan as people read it.
type fixPrinter struct {
	terminal
	plan fix.Plan
}

// patch is what git apply takes.
func (v fixPrinter) patch() string {
	var b strings.Builder
	for _, c := range v.plan.Changes {
		for line := range strings.Lines(patchOf(c)) {
			b.WriteString(v.line(line))
		}
	}
	return b.String()
}

func patchOf(c fix.Change) string {
	from, to := "a/"+c.File, "b/"+c.File
	if c.After == nil {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, string(c.Before), string(c.After))
}

func (v fixPrinter) line(line string) string {
	text, end := strings.TrimSuffix(line, "\n"), ""
	if text != line {
		end = "\n"
	}
	switch {
	case strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "+++ "):
		return v.in(bold, text) + end
	case strings.HasPrefix(text, "@@"):
		return v.in(cyan, text) + end
	case strings.HasPrefix(text, "-"):
		return v.in(red, text) + end
	case strings.HasPrefix(text, "+"):
		return v.in(green, text) + end
	}
	return line
}

// story prints what was done, what must be done first, and what is left.
func (v fixPrinter) story(done string) string {
	var b strings.Builder
	if len(v.plan.Fixes)+len(v.plan.Proposals) == 0 {
		return "nothing to fix\n"
	}
	b.WriteString("\n")
	first := 0
	for _, c := range v.plan.Fixes {
		fmt.Fprintf(&b, "%s %s\n", v.in(green, c.Resolves[0].Rule+":"), c.What)
		if c.First != "" {
			first++
		}
	}
	for _, p := range v.plan.Proposals {
		fmt.Fprintf(&b, "%s %s: %s\n  not edited: %s\n  to do: %s\n", v.in(yellow, p.Finding.Rule+":"), p.Finding.Place, p.Finding.Message, p.Why, p.Remedy)
	}
	if first > 0 {
		b.WriteString("\n" + v.in(bold, "First, where it runs already and is not applied by truce, or the count falls to 1:") + "\n")
	}
	for _, c := range v.plan.Fixes {
		if c.First != "" {
			b.WriteString("    " + strings.ReplaceAll(c.First, "\n", "\n    ") + "\n")
		}
	}
	left := fmt.Sprintf("%d left", len(v.plan.Proposals))
	b.WriteString("\n" + joinSentences(pluralize(len(v.plan.Changes), "file "+done, "files "+done), left) + "\n")
	return b.String()
}
