package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/output"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
)

const longAudit = `Look for conflicts in a repository, before they cause incidents: counts that an autoscaler owns, ignore rules
that match nothing, two apps that name one object. No cluster is asked, and nothing is written.

PATH is a directory, by default this one. The whole working tree is read and judged that it is in; what is reported and counted is what
the directory asks for, and what stands in its files. REPO is the address of a Git
repository, of which --ref names a branch, tag or commit. Every app is rendered that can be found: Flux Kustomizations and
Argo CD Applications that are read from this repository, HelmReleases and Applications of charts that it holds, with the values
that it holds, kustomizations and directories of manifests that none of them covers, and what ApplicationSets make of lists, of this repository's directories and files, and of matrices and merges of these. What Git
ignores is left out. What is not looked into is said: charts of other places unless --remote-bases is given, other repositories, ApplicationSets whose generators ask a cluster or a
service, or whose templates ask the clock or chance; files that a GitRepository includes from another one, and submodules that are not checked out; hidden directories, archives and test data; templates that another program
fills in. The table says the reasons with examples, --skipped and JSON each thing. A Kustomization whose GitRepository is not in the repository is read
by its path, if there is such a directory here; that is said as assumed. In the files of a git generator * matches / too, as it does in Argo CD by default.

What a kustomization names by its address is fetched with --remote-bases alone: directories of git repositories, single
files, and charts of repositories (helmCharts of an Application's kustomization); and the charts of HelmReleases and Applications, of Helm repositories
and OCI registries, at their version, or the newest of their range. Each is fetched once, without credentials. --no-private-sources and
--allow-source-hosts bound the servers that are asked, for REPO too. What cannot be fetched is said of the apps that name it, and the rest is judged all the same. What is
found in one is placed at the entry of the kustomization, or the app, that names it, in every form, and the message says in which file it stands.

--cluster looks at a cluster instead: it lists every workload that Flux, Argo CD or truce keeps as Git has it and that an
autoscaler scales (an HPA, a ScaledObject, or another kind that truce claims lists), with the count, whether Git names it (by managedFields and
what was last applied), and who wrote it last. A count that an Application ignores, by itself or by the ConfigMap argocd-cm of its Argo CD, and that it leaves alone in a
sync (RespectIgnoreDifferences=true) is no conflict. What you may not list is left out, and said. Nothing is written, and each kind is listed once.

A baseline is a file to keep in Git: what is found today is written to it, and does not fail tomorrow. It names no lines, so that
findings stay known while lines move; an entry that is not found any more is reported as stale.

What is only about the form of values is left out unless --form is given: quantities that the server writes otherwise (1000m for 1)
where no other app describes the object, and quantities, nulls and bounds in files that a program has made (DO NOT EDIT, releases).

Each rule has a page in docs/rules, which --explain prints.

Exit codes: 0 nothing found at or above --fail-on, 1 something found, 2 usage, 3 cluster, 4 part of it does not render, or a manifest
cannot be read that no baseline knows; the rest is judged all the same.`

const exampleAudit = `  truce audit
  truce audit clusters/production --fail-on warning
  truce audit https://github.com/fluxcd/flux2-kustomize-helm-example --ref main
  truce audit . -o sarif > audit.sarif
  truce audit --remote-bases
  truce audit --cluster -o wide
  truce audit --cluster --dialect argocd -n shop
  truce audit --write-baseline .truce-baseline.yaml
  truce audit --baseline .truce-baseline.yaml
  truce audit --base origin/main
  truce audit --explain replicas-autoscaled`

type auditFlags struct {
	appFlags
	query           discover.Request
	servers         serverFlags // of REPO and of what is fetched besides
	dialect, failOn string
	explain         string // a rule, or everyRule; empty for none
	base            string // an earlier revision; empty for none
	// baseline is read, writeBaseline is written; empty for none.
	baseline, writeBaseline string
	form, allSkipped        bool // what is left out otherwise
	cluster                 bool
	files                   []string // of claims
}

func (p *program) audit() *cobra.Command {
	f := &auditFlags{appFlags: appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "audit [PATH | REPO | --cluster]", Short: "Find the conflicts in a repository or a cluster", Long: longAudit, Example: exampleAudit,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.explain != "" {
				return f.explainRules(args)
			}
			if err := cmp.Or(f.clusterReady(cmd, args), f.ready(args)); err != nil {
				return err
			}
			if f.cluster {
				return f.live(cmd.Context())
			}
			return f.compared(cmd.Context(), func(judge func(discover.Discovery) []rules.Finding) error {
				return p.backend.Discover(cmd.Context(), f.query, func(s discover.Discovery) error { return f.printFound(s.Narrowed(), judge(s)) })
			})
		},
	}
	cmd.Flags().StringVar(&f.query.Ref, "ref", "", "branch, tag or commit of REPO, by default its HEAD")
	remoteBasesAndCharts(cmd, &f.query.RemoteBases)
	f.servers.add(cmd)
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "only the apps of argocd or flux")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "least severity that makes the exit code 1: error, warning, info, never")
	cmd.Flags().StringVar(&f.baseline, "baseline", "", "file of findings that are known: they are shown, and do not count for --fail-on")
	cmd.Flags().StringVar(&f.writeBaseline, "write-baseline", "", "write all that is found to this file, as known from now on")
	cmd.Flags().StringVar(&f.base, "base", "", "revision to compare with, as git names it (origin/main, HEAD~1): what cannot be changed and is changed since")
	cmd.Flags().StringVar(&f.explain, "explain", "", "print a rule whole, with an example, by its id; without one all rules")
	cmd.Flags().Lookup("explain").NoOptDefVal = everyRule
	cmd.Flags().BoolVar(&f.form, "form", false, "find how values are written, too: quantities that the server writes otherwise, nulls and bounds in generated files")
	cmd.Flags().BoolVar(&f.allSkipped, "skipped", false, "list each thing that was not looked into, not reasons with examples")
	f.clusterFlags(cmd)
	f.outputs(cmd, "table", "wide", "json", "yaml", "sarif", "junit", "github", "markdown")
	return cmd
}

func (f *auditFlags) ready(args []string) error {
	q := &f.query
	switch {
	case len(args) > 1:
		return usageError("%d arguments: name one directory or repository", len(args))
	case len(args) == 0:
		q.Path = "."
	case args[0] == "":
		return usageError("PATH is empty")
	case strings.Contains(args[0], "://") || reader.IsSCPAddress(args[0]):
		q.Repo = args[0]
	default:
		q.Path = args[0]
	}
	if q.Ref != "" && q.Repo == "" {
		return usageError("--ref is about a REPO: a directory is read as it lies there")
	}
	if f.dialect != "" {
		if err := checkOneOf("--dialect", f.dialect, []string{string(discover.ArgoCD), string(discover.Flux)}); err != nil {
			return err
		}
	}
	q.Only = discover.Dialect(f.dialect)
	q.Progress = f.program
	var err error
	if q.Servers, err = f.servers.policy(); err != nil {
		return err
	}
	return checkOneOf("--fail-on", f.failOn, []string{"error", "warning", "info", "never"})
}

// Rendered implements discover.Progress: it prints on a terminal how many of how many are done; of 0 it takes that away again.
func (p *program) Rendered(done, total int) {
	switch {
	case !p.term.moving:
	case total == 0:
		p.clearLine()
	default:
		fmt.Fprintf(p.env.Err, "%srendered %d of %d", startOver, done, total)
		p.open = true
	}
}

// severities are what --fail-on takes, and what each means.
var severities = map[string]rules.Severity{"error": rules.Error, "warning": rules.Warning, "info": rules.Info, "never": ""}

// forms are those of -o that other programs read, beside JSON and what is made of it.
var forms = []output.Format{output.SARIF, output.JUnit, output.GitHub, output.Markdown}

// compared hands over what judges: with a base what has changed since then, too.
func (f *auditFlags) compared(ctx context.Context, do func(func(discover.Discovery) []rules.Finding) error) error {
	if f.base == "" {
		return do(func(s discover.Discovery) []rules.Finding { return rules.InRepository(s, rules.CheckAll(s)) })
	}
	q := f.query
	q.AsBase = true
	if q.Repo != "" {
		q.Ref = f.base
	} else {
		q.Revision = f.base
	}
	return f.program.backend.Discover(ctx, q, func(base discover.Discovery) error {
		return do(func(s discover.Discovery) []rules.Finding { return rules.InRepository(s, rules.CheckAgainst(base, s)) })
	})
}

// printFound prints what was found.
func (f *auditFlags) printFound(s discover.Discovery, found []rules.Finding) error {
	f.query.Progress.Rendered(0, 0)
	sorted, err := f.sorted(s, found)
	if err != nil {
		return err
	}
	sheet := output.Audit{Version: f.program.env.Version, Survey: s, Rules: rules.AllRules(), Findings: sorted, FailOn: severities[f.failOn]}
	if !f.form {
		sheet.Findings.New, sheet.Aside = rules.Weighty(sorted.New)
	}
	if err := f.print(sheet); err != nil {
		return err
	}
	return auditVerdict(sheet)
}

func (f *auditFlags) print(s output.Audit) error {
	out := f.program.env.Out
	switch form := output.Format(f.output); {
	case f.output == "" || f.output == "table":
		return auditPrinter{f.program.term, s, f.allSkipped}.print(out)
	case slices.Contains(forms, form):
		return output.WriteAudit(out, form, s)
	}
	return f.structured(s.Document())
}

// auditVerdict is the exit code: what could not be rendered may hide anything.
func auditVerdict(s output.Audit) error {
	switch {
	case s.Blind():
		return &exit.Error{Code: exit.Render}
	case slices.ContainsFunc(s.Findings.New, s.Fails):
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}
