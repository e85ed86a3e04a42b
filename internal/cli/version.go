package cli

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

const longVersion = `Print the version of this program, of the controllers that work in the cluster, and of its API server.

--client prints the first alone, and needs no cluster. Without it, a cluster that does not answer is an
error, as in kubectl version; the program's own version is printed all the same.`

const exampleVersion = `  truce version
  truce version --client
  truce version -o json`

// controllerVersionJSON is what a controller has published of itself.
type controllerVersionJSON struct {
	Namespace string `json:"namespace"` // of its ConfigMap
	Version   string `json:"version"`
	Mode      string `json:"mode"`
}

// versionJSON has kubectl's names for what kubectl has, too.
type versionJSON struct {
	APIVersion  string                  `json:"apiVersion"`
	Kind        string                  `json:"kind"`
	Client      clientVersionJSON       `json:"clientVersion"`
	Controllers []controllerVersionJSON `json:"controllers,omitempty"`
	Server      *gitVersionJSON         `json:"serverVersion,omitempty"`
}

type clientVersionJSON struct {
	GitVersion string `json:"gitVersion"`
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
}

type gitVersionJSON struct {
	GitVersion string `json:"gitVersion"`
}

type versionFlags struct {
	*appFlags
	client, short bool
}

// version prints versions; under the name argocd, in that program's form.
func (p *program) version() *cobra.Command {
	f := &versionFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "version", Short: "Print the versions of truce and of the cluster", Long: longVersion, Example: exampleVersion, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.client, "client", false, "only the version of this program")
	f.outputs(cmd, "json", "yaml")
	if p.argocd() {
		flags.BoolVar(&f.short, "short", false, "only the number")
		return cmd
	}
	f.config.AddFlags(flags)
	f.complete(cmd, "context", f.completeContexts)
	return cmd
}

// askWithin is how long the cluster may take to answer `truce version`.
const askWithin = 5 * time.Second

func (f *versionFlags) run(ctx context.Context) error {
	if f.program.argocd() {
		return f.asArgocd()
	}
	out := versionJSON{APIVersion: schemaVersion, Kind: "Version", Client: clientVersionJSON{
		GitVersion: f.program.env.Version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}}
	var failed error
	if !f.client {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		failed = f.connected(ctx, func(c *Cluster) error {
			server, controllers, err := c.Versions(ctx)
			if server != "" {
				out.Server = &gitVersionJSON{server}
			}
			for _, v := range controllers {
				out.Controllers = append(out.Controllers, controllerVersionJSON(v))
			}
			return err
		})
	}
	if err := f.print(out); err != nil {
		return err
	}
	return failed
}

func (f *versionFlags) print(v versionJSON) error {
	if f.output != "" {
		return f.structured(v)
	}
	w := f.program.env.Out
	fmt.Fprintln(w, "Client Version: "+v.Client.GitVersion)
	for _, c := range v.Controllers {
		fmt.Fprintf(w, "Controller Version: %s (namespace %s, mode %s)\n", c.Version, c.Namespace, c.Mode)
	}
	if v.Server != nil {
		fmt.Fprintln(w, "Server Version: "+v.Server.GitVersion)
	}
	return nil
}

// asArgocd prints what argocd version --client does, as far as scripts read it.
func (f *versionFlags) asArgocd() error {
	version := "truce " + f.program.env.Version
	if f.output != "" {
		return f.structured(map[string]any{"client": map[string]any{"Version": version, "GoVersion": runtime.Version(), "Platform": runtime.GOOS + "/" + runtime.GOARCH}})
	}
	_, err := fmt.Fprintf(f.program.env.Out, "argocd: %s\n", version)
	return err
}
