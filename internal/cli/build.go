package cli

import (
	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longBuild = `Print the objects that a directory describes: the same as truce render PATH. With kustomization NAME, helmrelease NAME or
application NAME, print what the directory describes through that app's spec in the cluster.`

const longBuildApp = `Print the objects that an app describes, as a sync would send them: built through its spec in the cluster (patches,
components, images, postBuild with the cluster's ConfigMaps and Secrets, target namespace), in the order in which they are applied.
--path takes a directory of this machine in the place of the app's path, --revision another revision of the source.

Of a Kustomization --kustomization-file takes the custom resource from a file instead of the cluster, which need not have it yet.
With --dry-run no cluster is asked: variables of ConfigMaps and Secrets keep their expressions, encrypted files stay encrypted, and
a kind that neither Kubernetes nor the files define keeps the namespace that it is written with.
--recursive builds the Kustomizations among the objects too, each once: of the same source in the same local files, of another one in
the directory that --local-sources names, and else at what the cluster says of it. --ignore-paths leaves local files out.

Values of Secrets, and values that come from one, are masked. Nothing is written.

Exit codes: 0 built, 2 usage, 3 cluster, 4 the source cannot be fetched or does not render.`

const exampleBuild = `  truce build apps/web/production
  truce build kustomization web --path apps/web/production
  truce build ks web -n flux-system --revision my-branch -o name

  # without a cluster: the custom resource is a file, too
  truce build kustomization web --path apps/web/production --kustomization-file clusters/production/web.yaml --dry-run
  truce build kustomization flux-system --path clusters/production --recursive --local-sources GitRepository/flux-system/apps=../apps`

const longDiffApp = `Compare an app with the cluster: truce app diff NAME. --path takes a directory of this machine in the place of the app's
path, as flux diff kustomization does, and --revision another revision of the source; --values lays a file of values over those of
a HelmRelease, to see what an upgrade would change. truce app diff --help says the rest.`

func (p *program) build() *cobra.Command {
	cmd := p.render()
	cmd.Use, cmd.Short, cmd.Long, cmd.Example = "build PATH", "Print the objects that a directory or an app describes", longBuild, exampleBuild
	p.addApps(cmd, (*appFlags).buildApp)
	return cmd
}

// addApps adds a command for each kind of app below one that takes a path.
func (p *program) addApps(parent *cobra.Command, of func(*appFlags) *cobra.Command) {
	parent.Args = cobra.ArbitraryArgs
	for _, k := range resource.AllKinds() {
		if !k.App {
			continue
		}
		f := &appFlags{program: p, config: kubectlFlags()}
		cmd := of(f)
		if k.GVK == registry.Kustomizations {
			f.previewFlags(cmd, parent.Name())
		}
		cmd.Use, cmd.Aliases, cmd.Args = k.Singular+" NAME", kindAliases(k, k.Singular), cobra.ExactArgs(1)
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, qualifiedNames(k, args)) }
		cmd.ValidArgsFunction = f.completeNames(k)
		f.config.AddFlags(cmd.Flags())
		f.complete(cmd, "context", f.completeContexts)
		f.complete(cmd, "namespace", f.completeNamespaces)
		for _, name := range []string{"in-memory-build", "progress-bar"} {
			f.unheeded(cmd, name, "flux's flag about how it works")
		}
		parent.AddCommand(cmd)
	}
}

// diffApp is truce app diff for one kind.
func (f *appFlags) diffApp() *cobra.Command {
	cmd := f.diff()
	cmd.Short, cmd.Long, cmd.Example = "Compare an app with the cluster, also with local files", longDiffApp, `  truce diff kustomization web --path apps/web/production
  truce diff ks web -n flux-system --revision my-branch
  truce diff helmrelease web --values values-next.yaml`
	cmd.Flags().Lookup("all").Hidden = true
	return cmd
}

func (f *appFlags) buildApp() *cobra.Command {
	cmd := &cobra.Command{Short: "Print the objects that an app describes, also with local files", Long: longBuildApp, Example: exampleBuild}
	cmd.Flags().StringVar(&f.preview.Dir, "path", "", "directory of this machine in the place of the app's path")
	cmd.Flags().StringVar(&f.preview.Revision, "revision", "", "branch, tag or commit of the source")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkPreview(f.preview); err != nil {
			return err
		}
		return f.connected(cmd.Context(), func(c *Cluster) error {
			keys, err := f.previewTargets(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			objects, err := c.Build(cmd.Context(), keys[0], f.preview)
			if err != nil {
				return err
			}
			return f.printManifests(objects)
		})
	}
	f.outputs(cmd, "yaml", "json", "name")
	return cmd
}
