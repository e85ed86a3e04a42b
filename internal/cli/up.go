package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/cli/up"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
)

const longUp = `Bring up everything on this machine: a real Kubernetes API server with its controllers (the
sandbox: simulated nodes, a real autoscaler), truce's custom resources, truce itself, and a status
page. It runs until Ctrl-C, which ends everything that it started.

Without --repo a demo repository is made in DIR/repo: commit to it, and watch the cluster follow.
Apps of a --repo on this machine may read it as a GitRepository that nothing in it describes, such as
the flux-system of "flux bootstrap": the sandbox gets one of that name.
With --kubeconfig or --context that cluster is used instead of a sandbox. What is put into it is
listed: the CustomResourceDefinitions (where others have installed theirs, those stay), and for --repo
the namespace flux-system with a GitRepository and a Kustomization. All of it stays when truce up ends,
and a second truce up goes on with it. To take it away, delete the Kustomization while truce runs (it
deletes what it has made), then the rest.
A second truce up on the same --dir goes on where the first ended. With --tour it starts with a new
cluster, and the repository stays as it is.`

const exampleUp = `  truce up
  truce up --tour
  truce up --repo ~/src/fleet --path clusters/test --branch main
  truce up --repo . --path manifests --target-namespace default
  truce up --repo https://github.com/example/fleet --context kind-test`

type upFlags struct {
	processFlags
	witness  witnessFlags
	options  up.Options
	webhooks string
	ready    string // the file to write
	tour     bool
}

// webhooksAt returns where webhooks come in.
func (f *upFlags) webhooksAt(chosen bool) (webhooks.Place, error) {
	if !chosen && (f.options.Kubeconfig != "" || f.options.Context != "") {
		return webhooks.Place{}, nil
	}
	return (&webhookFlags{listen: f.webhooks}).complete()
}

func (p *program) up() *cobra.Command {
	f := &upFlags{}
	cmd := &cobra.Command{
		Use: "up", Short: "Start a cluster, truce and a repository on this machine", Long: longUp, Example: exampleUp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if f.options.Process, err = f.policy(); err != nil {
				return err
			}
			if f.options.Witness, err = f.witness.complete(); err != nil {
				return err
			}
			if f.options.Webhooks, err = f.webhooksAt(cmd.Flags().Changed("webhook-addr")); err != nil {
				return err
			}
			for _, name := range []string{"path", "branch", "target-namespace"} {
				if f.options.Repo == "" && cmd.Flags().Changed(name) {
					return exit.WithCode(exit.Usage, fmt.Errorf("--%s is about a repository: name it with --repo", name))
				}
			}
			f.options.Reset = f.tour
			return p.runUp(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.options.Dir, "dir", ".truce", "directory for everything: kubeconfig, the sandbox's data, repo/, logs")
	flags.StringVar(&f.options.Repo, "repo", "", "URL or path of a repository; without it a copy of the demo")
	flags.StringVar(&f.options.Path, "path", "./", "directory in --repo that is kept in sync")
	flags.StringVar(&f.options.Branch, "branch", "", "branch of --repo; without it the one that is checked out or the server's default")
	flags.StringVar(&f.options.TargetNamespace, "target-namespace", "", "namespace of all objects of --repo (spec.targetNamespace), which has to be there; for manifests that name none")
	flags.StringVar(&f.options.Listen, "listen", "127.0.0.1:0", "address of the status page, /healthz, /readyz and /metrics; empty for none. The page needs a login: the link that is printed, or truce dashboard")
	flags.StringVar(&f.options.MetricsListen, "metrics-listen", "", "address for /healthz, /readyz and /metrics, without the page; without it all are at --listen")
	flags.StringVar(&f.webhooks, "webhook-addr", "127.0.0.1:0", "address for the webhooks of Receivers (/hook/...) and of Argo CD (/api/webhook); empty for none. Without this flag none on --kubeconfig and --context: Receivers there are left to Flux's notification-controller")
	flags.StringVar(&f.ready, "ready-file", "", "write kubeconfig, repository and page as JSON here when all apps are ready")
	flags.BoolVar(&f.tour, "tour", false, "start with a new cluster, and show what truce does: a commit, a change by hand, and an autoscaler at work")
	f.add(flags)
	f.witness.add(flags)
	flags.StringVar(&f.options.Kubeconfig, "kubeconfig", "", "use this kubeconfig's cluster, not a sandbox")
	flags.StringVar(&f.options.Context, "context", "", "use this context's cluster, not a sandbox")
	return cmd
}

// upEnvironment is what was started, and the commands' view of its cluster.
type upEnvironment struct {
	*up.Environment
	Cluster *Cluster `json:"-"`
}

// namesInGit are the names that the apps of the user's repository have for it and that nothing in it describes, as far as their paths show that they mean it: `flux
// bootstrap` makes a GitRepository flux-system. A cluster of others has its own. Of what cannot be looked into there are none; its apps say what they lack.
func (p *program) namesInGit(ctx context.Context, o up.Options, to up.Steps) (names []string) {
	if info, err := os.Stat(o.Repo); err != nil || !info.IsDir() || o.Kubeconfig != "" || o.Context != "" {
		return nil
	}
	err := p.backend.Discover(ctx, discover.Request{Path: o.Repo, Only: discover.Flux}, func(d discover.Discovery) error {
		for _, key := range d.Taken {
			if key.Kind == registry.GitRepositories.Kind && key.Namespace == up.Home {
				names = append(names, key.Name)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		to.Step("the names that apps have for the repository were not looked for: " + err.Error())
	}
	return names
}

func (p *program) runUp(ctx context.Context, f *upFlags) error {
	begin := time.Now()
	teller := newStepPrinter(p.env.Out, p.term, begin)
	f.options.Version, f.options.Names = p.env.Version, p.namesInGit(ctx, f.options, teller)
	started, err := up.StartAll(ctx, p.backend, f.options, teller)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer started.Close()
	world := &upEnvironment{Environment: started}
	if world.Cluster, err = p.backend.Connect(ctx, cluster.Target{Kubeconfig: started.Kubeconfig, Context: started.Context}); err != nil {
		return err
	}
	defer world.Cluster.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-world.Ended:
			cancel(world.Err())
		case <-ctx.Done():
		}
	}()
	err = p.live(ctx, f, world, teller)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil {
		teller.Step("ending what was started")
		return nil
	}
	return err
}

// live is the time between the start and the end.
func (p *program) live(ctx context.Context, f *upFlags, world *upEnvironment, teller *stepPrinter) error {
	stuck, err := rolledOut(ctx, world, teller)
	if err != nil {
		return err
	}
	if len(stuck) > 0 {
		teller.Step("not ready: " + strings.Join(stuck, ", ") + "; truce goes on trying")
		p.next(world, f.options.Dir)
		if err := allReady(ctx, world, teller); err != nil {
			return err
		}
	}
	teller.Step(fmt.Sprintf("all apps are ready, %.1f s after the start", time.Since(teller.begin).Seconds()))
	if err := readyFile(f.ready, world); err != nil {
		return err
	}
	if f.tour {
		teller.block("", p.term.in(bold, "The commands below work in another terminal, after:"), "  "+world.export(p.env.Getenv))
		if err := (&tour{steps: teller, world: world, claims: f.options.Process.Claims}).run(ctx); err != nil {
			return fmt.Errorf("tour: %w", err)
		}
	}
	if f.tour || len(stuck) == 0 {
		p.next(world, f.options.Dir)
	}
	<-ctx.Done()
	return nil
}

// rolledOut prints the rollout until each app is ready, suspended, or has failed; it names those that have.
func rolledOut(ctx context.Context, world *upEnvironment, t *stepPrinter) (stuck []string, err error) {
	said := map[string]string{}
	err = world.Cluster.Follow(ctx, app.Key{}, func(all []view.Summary) bool {
		over := len(all) > 0
		stuck = nil
		for _, a := range all {
			t.news(a, said)
			if hasFailed(a) {
				stuck = append(stuck, resourceName(a.Key))
			}
			over = over && (isRolledOut(a) || hasFailed(a))
		}
		return over
	})
	return stuck, err
}

// allReady prints the rollout until all apps are ready.
func allReady(ctx context.Context, world *upEnvironment, t *stepPrinter) error {
	said := map[string]string{}
	return world.Cluster.Follow(ctx, app.Key{}, func(all []view.Summary) bool {
		over := true
		for _, a := range all {
			t.news(a, said)
			over = over && isRolledOut(a)
		}
		return over
	})
}

// isRolledOut reports whether nothing more is to be waited for. Of what truce only observes, the status is another controller's.
func isRolledOut(a view.Summary) bool {
	return a.State.Suspended || a.Observed || awaitsSync(a) || conditions["healthy"](a)
}

// news prints the state of an app, once.
func (t *stepPrinter) news(a view.Summary, said map[string]string) {
	if text := rolloutLine(a); said[a.Key.String()] != text {
		said[a.Key.String()] = text
		t.Step(resourceName(a.Key) + ": " + text)
	}
}

// awaitsSync reports whether a person has to request the sync that an app needs.
func awaitsSync(a view.Summary) bool {
	return a.OnRequest && a.State.Sync == report.OutOfSync && !a.State.Suspended && !a.Observed
}

func hasFailed(a view.Summary) bool {
	return a.State.Ready == report.NotReady && !a.State.Suspended && !awaitsSync(a) && a.Settled
}

func rolloutLine(a view.Summary) string {
	switch {
	case conditions["healthy"](a):
		return "applied and healthy, " + explain.ShortRevision(a.Revision)
	case awaitsSync(a):
		return fmt.Sprintf("OutOfSync, and synced on request: truce app sync %s -n %s", a.Key.Name, a.Key.Namespace)
	case hasFailed(a):
		return "failed: " + oneLine(a.Message, 200)
	case a.State.Suspended:
		return "suspended"
	case a.Observed:
		return "only observed"
	case a.State.Ready == report.ReadyUnknown && a.State.Sync == report.Unknown:
		return "waiting for its first run"
	}
	return oneLine(stateLine(a.State), 90)
}

func readyFile(path string, world *upEnvironment) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(world, "", "  ")
	if err != nil {
		return err
	}
	half := path + ".new" // who waits for the file must never see a part of it
	if err := os.WriteFile(half, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return os.Rename(half, path)
}
