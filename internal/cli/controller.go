package cli

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/app"
)

const longController = `Run truce's controller until it is told to end (SIGTERM, Ctrl-C). In a pod it uses the pod's service account.

It keeps what the cluster's Kustomizations describe equal to Git. Where a custom resource says
nothing, the flags hold; annotations on it (truce.dev/claims, truce.dev/mode) go over them.`

const exampleController = `  # in a cluster, one of two replicas at work
  truce controller --leader-elect --listen 0.0.0.0:8080

  # beside running Flux controllers: only say what would be done
  truce controller --mode observe`

// processFlags are the policies of a process.
type processFlags struct{ claims, mode string }

func (f *processFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.claims, "claims", "", "fields that another controller has a right to: cede (default), report, off (plain GitOps: enforce Git, and fight)")
	flags.StringVar(&f.mode, "mode", "", "enforce (default), or observe: report what would be done and write nothing")
}

func (f *processFlags) policy() (app.Policy, error) {
	if err := oneOf("--claims", f.claims, []string{"cede", "report", "off"}); f.claims != "" && err != nil {
		return app.Policy{}, err
	}
	if err := oneOf("--mode", f.mode, []string{"enforce", "observe"}); f.mode != "" && err != nil {
		return app.Policy{}, err
	}
	return app.Policy{Claims: app.Claims(f.claims), Mode: app.Mode(f.mode)}, nil
}

type controllerFlags struct {
	processFlags
	options        ControllerOptions
	claimFiles     []string
	elect          bool
	level, logForm string
}

func (p *program) controller() *cobra.Command {
	f := &controllerFlags{}
	cmd := &cobra.Command{
		Use: "controller", Short: "Run the controller", Long: longController, Example: exampleController, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.complete(p.env.Err)
			if err != nil {
				return err
			}
			return p.backend.Controller(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.options.Kubeconfig, "kubeconfig", "", "path of a kubeconfig; without it as kubectl, or the pod's service account")
	flags.StringVar(&f.options.Context, "context", "", "context of the kubeconfig")
	f.add(flags)
	flags.StringArrayVar(&f.claimFiles, "claims-file", nil, "a file of entries for the catalogue of claims (truce claims); may be given more than once; the ConfigMap truce-claims goes over it")
	flags.StringVar(&f.options.Listen, "listen", "127.0.0.1:8080", "address of the status page, /healthz and /readyz; empty for none")
	flags.StringVar(&f.options.CacheDir, "cache-dir", defaultCache(), "directory for clones; one controller at a time")
	flags.BoolVar(&f.options.LocalSources, "local-sources", false, "let GitRepositories name repositories on this machine (paths, file://): whoever may write one then reads what truce can read")
	flags.BoolVar(&f.elect, "leader-elect", false, "work only while holding a Lease, so that several can stand by")
	flags.StringVar(&f.options.Election.Name, "leader-elect-name", "truce-controller", "name of the Lease")
	flags.StringVar(&f.options.Election.Namespace, "leader-elect-namespace", "", "namespace of the Lease; without it the context's or the pod's")
	flags.IntVar(&f.options.Apps, "concurrent-apps", 0, "apps that are run at once; 0 for the default")
	flags.IntVar(&f.options.Objects, "concurrent-objects", 0, "objects that are judged at once; 0 for the default")
	flags.StringVar(&f.level, "log-level", "info", "debug, info, warn, error")
	flags.StringVar(&f.logForm, "log-format", "text", "text, json")
	return cmd
}

func (f *controllerFlags) complete(log io.Writer) (ControllerOptions, error) {
	o := f.options
	var err error
	if o.Process, err = f.policy(); err != nil {
		return o, err
	}
	if o.Catalogue, err = catalogue(f.claimFiles); err != nil {
		return o, err
	}
	if !f.elect {
		o.Election = Election{}
	}
	o.Log, err = newLog(log, f.level, f.logForm)
	return o, err
}

func newLog(w io.Writer, level, form string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level %q: want debug, info, warn, error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch form {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, usage("--log-format %q: want text, json", form)
}

// defaultCache is below the user's cache directory; where there is none, below the one for temporary files.
func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "truce")
}
